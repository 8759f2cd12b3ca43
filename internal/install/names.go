package install

import (
	"net/url"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/spelling"
)

// LocalName returns the default local name of a server: the part after the last
// slash, without prefixes and suffixes such as "mcp" and "server".
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

// Source returns the repository that a record names, without its scheme.
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

// OwnerFits reports whether the owner in an io.github name is the owner of the
// repository. known is false if the name does not contain an owner.
func (r *Record) OwnerFits() (fits, known bool) {
	space, _, _ := strings.Cut(r.Server.Name, "/")
	owner, ok := strings.CutPrefix(strings.ToLower(space), "io.github.")
	if !ok || r.Source() == "" {
		return false, false
	}
	return strings.HasPrefix(strings.ToLower(r.Source()), "github.com/"+owner+"/"), true
}

// LooksLike returns the first of the others that name could be mistaken for: it
// looks the same but differs, or is one edit away.
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

// Mark sets the registry as the origin of the entry of a bundle.
func (p *Plan) Mark(e *Entry) {
	o := p.origin()
	o.Bundle, o.SHA256, o.Signer = e.Origin.Bundle, e.Origin.SHA256, e.Origin.Signer
	e.Origin = o
}
