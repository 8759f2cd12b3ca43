package approval

import (
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/config/digest"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/config/variable"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// Scripts are the scripts of one entry, with the code from their files. They run
// only as a person has approved them, whatever their author and file.
type Scripts struct {
	List []Script
	// Hash covers all scripts with their code; "" if there are none.
	Hash string
}

// A Script is one script of an entry. Refused says why its file may not be
// used, and is empty otherwise. Err is set if the file cannot be read.
type Script struct {
	Name, Code string
	Refused    i18n.Text
	Err        error
}

// ScriptsIn returns the object with the scripts of an entry; nil if it has none.
func ScriptsIn(n *document.Node) *document.Node {
	if n == nil {
		return nil
	}
	return layout.OwnServer(n, "", &problem.List{}).Get("scripts")
}

// Scripts returns the scripts of an entry of this file. n may be nil.
func (a *Record) Scripts(n *document.Node) (s Scripts) {
	scripts := ScriptsIn(n)
	if scripts == nil || len(scripts.Members) == 0 {
		return s
	}
	h := digest.New()
	h.Add("scripts", layout.Hash(scripts))
	for _, m := range scripts.Members {
		one := Script{Name: m.Key}
		if path := m.Value.Get("file"); path != nil {
			one.Code, one.Refused, one.Err = a.scriptFile(path.Text)
		} else if code := m.Value.Get("code"); code != nil {
			one.Code = code.Text
		}
		h.Add(one.Name, one.Code)
		s.List = append(s.List, one)
	}
	s.Hash = h.Sum()
	return s
}

// scriptFile returns the code in a file. Every principal that may see the entry
// can read the code, so the file must be a script below the folder of the config
// file, also if it is a link. Scripts of a project's config file have no files,
// because its author does not know what else is below that folder.
func (a *Record) scriptFile(path string) (code string, refused i18n.Text, err error) {
	if a.project {
		return "", i18n.New("of a project names a file; put the code into \"code\"", "属于项目，却指定了 file；请把代码写入 \"code\""), nil
	}
	outside := i18n.New("has a file that is not a .js file below the folder of the config file: %s", "的 file 不是配置文件所在目录之下的 .js 文件：%s", i18n.Seen(path))
	if !filepath.IsLocal(path) || strings.HasPrefix(path, "~") || filepath.Ext(path) != ".js" {
		return "", outside, nil
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(a.path))
	if err != nil {
		return "", i18n.Text{}, err
	}
	real, err := filepath.EvalSymlinks(filepath.Join(folder, path))
	if err != nil {
		return "", i18n.Text{}, err
	}
	below, err := filepath.Rel(folder, real)
	if err != nil || !filepath.IsLocal(below) || filepath.Ext(real) != ".js" || real == disk.RealPath(a.path) {
		return "", outside, nil
	}
	code, err = (&variable.Resolver{Base: folder}).File(real)
	return code, i18n.Text{}, err
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
