package approval

import (
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/config/digest"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/config/variable"
	"mcp-all-in-one/internal/i18n"
)

// Scripts are those of one entry, with the code that a file of theirs holds.
// Whoever wrote them, and wherever, they run only as a person has approved them.
type Scripts struct {
	List []Script
	// Hash covers all of them, code included; "" where there are none.
	Hash string
}

// A Script is one of an entry. Err is why the file with its code cannot be read.
type Script struct {
	Name, Code string
	Err        error
}

// Scripts are those of an entry of this file; of nil none.
func (a *Record) Scripts(n *document.Node) (s Scripts) {
	if n == nil {
		return s
	}
	scripts := layout.OwnServer(n, "", &problem.List{}).Get("scripts")
	if scripts == nil || len(scripts.Members) == 0 {
		return s
	}
	files := &variable.Resolver{Home: a.home, Base: filepath.Dir(a.path)}
	h := digest.New()
	h.Add("scripts", layout.Hash(scripts))
	for _, m := range scripts.Members {
		one := Script{Name: m.Key}
		if path := m.Value.Get("file"); path != nil {
			one.Code, one.Err = files.File(path.Text)
		} else if code := m.Value.Get("code"); code != nil {
			one.Code = code.Text
		}
		h.Add(one.Name, one.Code)
		s.List = append(s.List, one)
	}
	s.Hash = h.Sum()
	return s
}

// Text is the code of the scripts as a person reads it: line by line, with
// characters that do not show written as their numbers.
func (s Scripts) Text() string {
	var b strings.Builder
	for _, one := range s.List {
		b.WriteString("\n\nscripts." + i18n.Seen(one.Name) + ":")
		if one.Err != nil {
			b.WriteString(" " + one.Err.Error())
			continue
		}
		for line := range strings.SplitSeq(one.Code, "\n") {
			b.WriteString("\n  " + i18n.Seen(strings.ReplaceAll(strings.TrimSuffix(line, "\r"), "\t", "  ")))
		}
	}
	return b.String()
}

// Shown is the hash of what a person is shown of an entry: that of the entry, and
// that of its scripts with their code.
func (s Scripts) Shown(entry string) string {
	if s.Hash == "" {
		return entry
	}
	return entry + "." + s.Hash
}

// entryOf is the hash of the entry alone in what Shown returned.
func entryOf(shown string) string {
	entry, _, _ := strings.Cut(shown, ".")
	return entry
}
