// Package access decides who may use this gateway.
//
// A request carries a key of this gateway, a token of an authorization server, or
// no credential. The package maps it to a Principal, which says what the client
// may see and do, or to a Refusal. There is one decision, and it fails closed: a
// credential that cannot be read or is unknown is refused, never treated as
// anonymous. The package does not know what is behind the gateway.
package access

import (
	"context"
	"slices"
	"strings"
	"time"
)

// A Principal is the sender of a request. The zero Principal has no rights.
type Principal struct {
	// ID is unique and stable: "key:...", "token:...", or the ID of one of the
	// principals below.
	ID string
	// Name is for display.
	Name string
	// Expires is when the credential expires; zero means never.
	Expires time.Time
	// Here says that the request comes from this machine, so that the folders
	// that it names are folders of this machine. It is not passed on to other
	// replicas, which run on other machines.
	Here bool `json:"-"`
	Grant
}

var (
	// Anonymous is a client on this machine if no access is configured. It may
	// use everything and configure nothing.
	Anonymous = Principal{ID: "anonymous", Name: "anonymous"}
	// Local is a program of the user, which started this gateway and talks to it
	// over stdio.
	Local = Principal{ID: "local", Name: "local program", Here: true, Grant: Grant{Admin: true}}
	// Owner is the person who runs this gateway, at the console or at a terminal.
	// It differs from Local: a person decides what programs may do.
	Owner = Principal{ID: "owner", Name: "owner", Grant: Grant{Admin: true}}
)

// Shares reports whether the principal with the given id shares the gateway with
// others, so that its part of each limit is restricted. The user of this machine,
// who needs no credential, may use the whole limit.
func Shares(id string) bool { return id != "" && id != Anonymous.ID && id != Local.ID }

type contextKey struct{}

// With returns a context that carries p.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns the principal in ctx, or the zero Principal.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}

// MaySee reports whether a tool is shown at all. An empty tool means the server
// as a whole, an empty server means the schema.
func (p Principal) MaySee(schema, server, tool string) bool {
	return p.ID != "" && p.sees(schema, server, tool)
}

// MaySeeAll reports whether the principal sees a part of each of the servers from
// which something came that it got earlier.
func (p Principal) MaySeeAll(schema string, servers []string) bool {
	return !slices.ContainsFunc(servers, func(server string) bool { return !p.MaySee(schema, server, "") })
}

// MayCall reports whether a tool may be called. readOnly is the server's hint
// about the tool.
func (p Principal) MayCall(schema, server, tool string, readOnly bool) bool {
	return p.MaySee(schema, server, tool) && (readOnly || !p.ReadOnly)
}

// MayRead reports whether the resources and prompts of a server may be used. A
// principal that is restricted to certain tools may use only those tools.
func (p Principal) MayRead(schema, server string) bool {
	return p.MaySee(schema, server, "") && len(p.Tools) == 0
}

// MayConfigure reports whether the principal may change the configuration, start
// and stop servers, and create keys.
func (p Principal) MayConfigure() bool { return p.ID != "" && p.Admin && !p.ReadOnly }

// MayChooseFolder reports whether commands of the configuration may start in a
// folder that the principal names. Many programs, for example npx, run code that
// they find in the working directory. So the principal must be allowed to write
// the folder into the configuration, and the folder must be on this machine.
func (p Principal) MayChooseFolder() bool { return p.Here && p.MayConfigure() }

// MayLookAt reports whether the principal may read the traffic, tasks and results
// of another principal.
func (p Principal) MayLookAt(owner string) bool {
	return p.ID != "" && (p.ID == owner || p.Admin)
}

// MayDecide reports whether the principal may approve a request of another
// principal. No principal approves its own request.
func (p Principal) MayDecide(asker string) bool {
	return p.MayConfigure() && p.ID != asker
}

// Unbound reports whether the principal sees everything, so that lists need no
// filter.
func (p Principal) Unbound() bool {
	return p.ID != "" && len(p.Schemas) == 0 && len(p.Servers) == 0 && len(p.Tools) == 0
}

// Within returns the principal restricted to a grant. It stays the same
// principal, and gets no right that it lacks: patterns of two grants cannot be
// combined, so one that is restricted already keeps its own.
func (p Principal) Within(g Grant) Principal {
	if !p.Unbound() {
		g.Schemas, g.Servers, g.Tools = p.Schemas, p.Servers, p.Tools
	}
	g.Admin = g.Admin && p.Admin
	g.ReadOnly = g.ReadOnly || p.ReadOnly
	if p.Calls > 0 && (g.Calls == 0 || p.Calls < g.Calls) {
		g.Calls = p.Calls
	}
	p.Grant = g
	return p
}

// Sight returns a key that is equal for principals that see the same, so that
// they can share lists; empty for principals that see everything.
func (p Principal) Sight() string {
	if p.Unbound() && !p.ReadOnly {
		return ""
	}
	scopes := p.Scopes()
	slices.Sort(scopes)
	return strings.Join(scopes, " ")
}
