package eval

import (
	"fmt"

	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/lazy"
)

// aliases replaces the names of results that the gateway keeps. The names are
// random, so without aliases every run would send different requests, and a
// recording would match none that contain a name.
type aliases struct {
	names map[string]string // name by alias
	given map[string]string // alias by name
}

var keptName = lazy.Regexp(kept.Form)

// hide replaces names with aliases.
func (a *aliases) hide(text string) string {
	return keptName().ReplaceAllStringFunc(text, func(name string) string {
		if a.given == nil {
			a.given, a.names = make(map[string]string), make(map[string]string)
		}
		alias, ok := a.given[name]
		if !ok {
			alias = fmt.Sprintf("%s%032x", kept.Scheme, len(a.given)+1)
			a.given[name], a.names[alias] = alias, name
		}
		return alias
	})
}

// reveal replaces aliases with names.
func (a *aliases) reveal(raw []byte) []byte {
	return keptName().ReplaceAllFunc(raw, func(alias []byte) []byte {
		if name, ok := a.names[string(alias)]; ok {
			return []byte(name)
		}
		return alias
	})
}
