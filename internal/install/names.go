package install

import (
	"net/url"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/spelling"
)

// LocalName is the name that a server gets here unless the person says another:
// what follows the last slash, without the words that every server has.
func LocalName(name string) string {
	local := name[strings.LastIndexByte(name, '/')+1:]
	for _, word := range []string{"mcp-server-", "server-", "mcp-"} {
		if rest, ok := strings.CutPrefix(local, word); ok && rest != "" {
			local = rest
			break
		}
	}
	for _, word := range []string{"-mcp-server", "-mcp", "-server"} {
		if rest, ok := strings.CutSuffix(local, word); ok && rest != "" {
			local = rest
			break
		}
	}
	return local
}

func (p *Plan) origin() *config.Origin {
	s := &p.Record.Server
	return &config.Origin{Registry: p.Record.Registry, Name: s.Name, Version: s.Version}
}

// Source is the repository that a record names, without its scheme.
func (r *Record) Source() string {
	if r.Server.Repository == nil {
		return ""
	}
	u, err := url.Parse(r.Server.Repository.URL)
	if err != nil || u.Host == "" {
		return ""
	}
	return Show(strings.TrimSuffix(u.Host+u.Path, ".git"))
}

// OwnerFits says whether the owner in a name of io.github is the owner of the
// repository; known is false where the name does not tell.
func (r *Record) OwnerFits() (fits, known bool) {
	space, _, _ := strings.Cut(r.Server.Name, "/")
	owner, ok := strings.CutPrefix(strings.ToLower(space), "io.github.")
	if !ok || r.Source() == "" {
		return false, false
	}
	return strings.HasPrefix(strings.ToLower(r.Source()), "github.com/"+owner+"/"), true
}

// LooksLike returns the first of the names that another could be taken for: one
// that looks the same and is not, or is one edit away.
func LooksLike(name string, others []string) string {
	for _, other := range others {
		if other == name {
			continue
		}
		if definition.Skeleton(name) == definition.Skeleton(other) || spelling.Distance([]rune(strings.ToLower(name)), []rune(strings.ToLower(other)), 1) <= 1 {
			return other
		}
	}
	return ""
}

// Mark gives the entry of a bundle that a registry names its origin there.
func (p *Plan) Mark(e *Entry) {
	o := p.origin()
	o.Bundle, o.SHA256 = e.Origin.Bundle, e.Origin.SHA256
	e.Origin = o
}
