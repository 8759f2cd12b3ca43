// Package access decides who may use this gateway.
//
// A request comes in with a key of ours, with a token of an authorization
// server, or with nothing; out comes a Principal, which says what it may see
// and do, or a Refusal. There is one decision, and it fails closed: what
// cannot be read or is not known is refused, never anonymous. The package
// refuses to know what is behind the gateway.
package access

import (
	"context"
	"slices"
	"strings"
	"time"
)

// A Principal is who a request comes from. The zero Principal has no rights.
type Principal struct {
	// ID is unique and stable: "key:...", "token:...", or the ID of one of the
	// principals below.
	ID string
	// Name is for people.
	Name string
	// Expires is when the credential ends; zero means never.
	Expires time.Time
	// Here says that the request comes from this machine, so that the folders
	// that it names are ours. It is not told to other replicas, which are
	// elsewhere.
	Here bool `json:"-"`
	Grant
}

var (
	// Anonymous is a client on this machine when no access is configured. It
	// may use everything and configure nothing.
	Anonymous = Principal{ID: "anonymous", Name: "anonymous"}
	// Local is a program of the user that started us and talks over stdio.
	Local = Principal{ID: "local", Name: "local program", Here: true, Grant: Grant{Admin: true}}
	// Owner is the person who runs this gateway, at the console or at a
	// terminal. It is not Local: a person decides what programs may do.
	Owner = Principal{ID: "owner", Name: "owner", Grant: Grant{Admin: true}}
)

// Shares says whether the principal with that id shares the gateway with
// others, so that it has a part of the room and no more. The user of this
// machine, who shows no credential, may have all of it.
func Shares(id string) bool { return id != "" && id != Anonymous.ID && id != Local.ID }

type contextKey struct{}

// With returns a context that carries p.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// From returns the principal that ctx carries; the zero Principal when it
// carries none.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}

// MaySee says whether a tool is shown at all. An empty tool asks for the
// server as a whole, an empty server for the schema.
func (p Principal) MaySee(schema, server, tool string) bool {
	return p.ID != "" && p.sees(schema, server, tool)
}

// MayCall says whether a tool may be called; readOnly is what its server says
// about it.
func (p Principal) MayCall(schema, server, tool string, readOnly bool) bool {
	return p.MaySee(schema, server, tool) && (readOnly || !p.ReadOnly)
}

// MayRead says whether the resources and prompts of a server may be used. Who
// is bound to certain tools may use those alone.
func (p Principal) MayRead(schema, server string) bool {
	return p.MaySee(schema, server, "") && len(p.Tools) == 0
}

// MayConfigure says whether the configuration may be changed, servers started
// and stopped, keys made.
func (p Principal) MayConfigure() bool { return p.ID != "" && p.Admin && !p.ReadOnly }

// MayChooseFolder says whether commands of the configuration may start in a
// folder that the principal names. Many programs run what they find there, npx
// for example, so this is for those who could write the folder into the
// configuration, and who name one of this machine.
func (p Principal) MayChooseFolder() bool { return p.Here && p.MayConfigure() }

// MayLookAt says whether the principal may read what belongs to another one:
// its traffic, its tasks, its results.
func (p Principal) MayLookAt(owner string) bool {
	return p.ID != "" && (p.ID == owner || p.Admin)
}

// MayDecide says whether the principal may allow what another one asked for.
// Nobody allows their own request.
func (p Principal) MayDecide(asker string) bool {
	return p.MayConfigure() && p.ID != asker
}

// Unbound says that the principal sees everything there is, so that lists need
// not be filtered.
func (p Principal) Unbound() bool {
	return p.ID != "" && len(p.Schemas) == 0 && len(p.Servers) == 0 && len(p.Tools) == 0
}

// Sight is equal for principals that see the same, so that they share lists;
// empty for those that see everything.
func (p Principal) Sight() string {
	if p.Unbound() && !p.ReadOnly {
		return ""
	}
	scopes := p.Scopes()
	slices.Sort(scopes)
	return strings.Join(scopes, " ")
}
