package eval

import (
	"fmt"
	"regexp"
)

// aliases stand for the names of results that the gateway keeps. Those are random,
// so that no two runs would be told the same, and a recording would know none of
// the requests that have one in them.
type aliases struct {
	names map[string]string // by the alias
	given map[string]string // the alias, by the name
}

var keptName = regexp.MustCompile(`result://[0-9a-f]{32}`)

// hide writes aliases in place of names.
func (a *aliases) hide(text string) string {
	return keptName.ReplaceAllStringFunc(text, func(name string) string {
		if a.given == nil {
			a.given, a.names = make(map[string]string), make(map[string]string)
		}
		alias, ok := a.given[name]
		if !ok {
			alias = fmt.Sprintf("result://%032x", len(a.given)+1)
			a.given[name], a.names[alias] = alias, name
		}
		return alias
	})
}

// reveal writes names in place of aliases.
func (a *aliases) reveal(raw []byte) []byte {
	return keptName.ReplaceAllFunc(raw, func(alias []byte) []byte {
		if name, ok := a.names[string(alias)]; ok {
			return []byte(name)
		}
		return alias
	})
}
