// Package console connects the web console to a running gateway.
package console

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"path/filepath"
	"sync"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/web"
	"mcp-all-in-one/internal/web/add"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/inbox"
	"mcp-all-in-one/internal/web/values"
)

// New returns the console of an instance. token is the credential of the local
// control channel. named reports whether a request is for a host name that the
// console accepts, besides the names of this machine. body reads the bodies of
// requests.
func New(ctx context.Context, in *instance.Instance, a *env.Env, token string, named func(r *http.Request) bool, body api.BodyFunc) (*web.Handler, error) {
	current := func(who access.Principal) (access.Principal, bool) { return in.Access().Current(who) }
	announce := announcer(in)
	in.Watchers.Add(announce)
	announce() // servers that already wait
	askHosts(ctx, in, a)
	return web.New(ctx, web.Options{
		Servers: &consoleServers{in: in, env: a}, Traffic: in.Traffic, Usage: in.Usage, Named: keyNames(in), Bench: (&consoleBench{in}).open, Inbox: &in.Inbox,
		Settings: &consoleSettings{consoleServers{in: in, env: a}}, Catalog: &consoleCatalog{consoleServers{in: in, env: a}}, Programs: &consolePrograms{in: in, env: a},
		Doctor: &consoleDoctor{in: in, env: a}, Suites: suiteOptions(in), Clients: func() []web.Client { return consoleClients(in) }, Validate: validateAgainst,
		Values:   &values.Page{Book: &in.Wanted, Has: in.Values.Has, Store: in.Values.Set, Current: current, Log: in.Log},
		More:     add.New(a, &consoleAdd{consoleServers{in: in, env: a}, ctx}).Routes(),
		Replicas: replicasOf(in), LoginBox: in.LoginBox, Digest: digestOf(in),
		Reload:  func() (web.Reload, error) { return in.Reread() },
		Unread:  func() *web.Unread { return in.Unread() },
		Restart: func() error { return in.Restart() },
		Bearer:  func(r *http.Request) (access.Principal, bool) { return consoleBearer(in, r, token) },
		Current: current, AllowHost: named, Body: body, HasRoom: func() error { return gateway.HasRoom(in.Gateway) },
		StateDir: filepath.Join(folders.StateDir(), "console"), Endpoint: in.URL + "/mcp", Version: mcp.ProductVersion, Log: in.Log,
	})
}

// digestOf returns the function that returns the digest of the configuration; nil
// outside a cluster.
func digestOf(in *instance.Instance) func() string {
	if in.Cluster == nil {
		return nil
	}
	return func() string { return in.Member().Config }
}

// keyNames returns a function that returns the name of a key.
func keyNames(in *instance.Instance) func(string) string {
	return func(principal string) string {
		who, _ := in.Access().Current(access.Principal{ID: principal})
		return who.Name
	}
}

func consoleClients(in *instance.Instance) []web.Client {
	clients := []web.Client{}
	for _, c := range in.Gateway.Clients() {
		clients = append(clients, web.Client{
			Session: c.Session, Name: c.Name, Version: c.Version, Protocol: c.Protocol, Transport: c.Transport,
			Schema: c.Schema, Principal: c.Principal, Owner: c.Owner, Since: c.Since, Seen: c.Seen, Calls: c.Calls,
			Capabilities: c.Offer.JSON(mcp.Rules(c.Protocol), false),
		})
	}
	return clients
}

// validateAgainst checks a value with the code that checks the arguments of
// calls.
func validateAgainst(schema, value json.RawMessage) ([]web.Problem, error) {
	item, err := probe.SchemaItem(schema)
	if err != nil {
		return nil, err
	}
	problems := []web.Problem{}
	for _, v := range item.Validate(value) {
		p := web.Problem{Path: v.Path}
		p.Message, p.MessageZH = v.Message.Both()
		problems = append(problems, p)
	}
	return problems, nil
}

// consoleBearer authenticates scripts, which use the console's API with a key,
// and our own commands, which use the token of the control channel and act as
// the owner.
func consoleBearer(in *instance.Instance, r *http.Request, token string) (access.Principal, bool) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) == 1 {
		return access.Owner, true
	}
	who, refused := in.Access().Authenticate(r)
	return who, refused == nil
}

// announcer returns a function that announces the servers that wait for
// approval, once each.
func announcer(in *instance.Instance) func() {
	var mu sync.Mutex
	told := map[[2]string]string{} // hash, by schema and server
	return func() {
		mu.Lock()
		defer mu.Unlock()
		waits := map[[2]string]string{}
		for _, view := range in.Set.Snapshot().Schemas {
			for _, u := range view.Upstreams {
				what := approvalOf(u)
				if what == nil {
					continue
				}
				cfg, key := u.Config(), [2]string{view.Config.Name, u.Name()}
				waits[key] = what.Hash
				if told[key] == what.Hash {
					continue
				}
				in.Webhook.Announce(inbox.Pending{Schema: key[0], Server: key[1], Hash: what.Hash, Tools: cfg.Waits() == nil, From: in.Config.Approvals().Asker(cfg.ID(), what.Hash)})
			}
		}
		told = waits
	}
}
