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

// Scripts are the scripts of one entry, with the code from their files. They run
// only as a person has approved them, whatever their author and file.
type Scripts struct {
	List []Script
	// Hash covers all scripts with their code; "" if there are none.
	Hash string
}

// A Script is one script of an entry. Err is set if the file with its code
// cannot be read.
type Script struct {
	Name, Code string
	Err        error
}

// Scripts returns the scripts of an entry of this file. n may be nil.
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

// Text returns the code of the scripts for a person to read: line by line, with
// invisible characters written as their numbers.
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

// Shown returns the hash of what a person is shown of an entry: the hash of the
// entry, and the hash of its scripts with their code.
func (s Scripts) Shown(entry string) string {
	if s.Hash == "" {
		return entry
	}
	return entry + "." + s.Hash
}

// entryOf returns the hash of the entry from a result of Shown.
func entryOf(shown string) string {
	entry, _, _ := strings.Cut(shown, ".")
	return entry
}
