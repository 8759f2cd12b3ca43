package target

import (
	"cmp"
	"context"
	"strings"

	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web"
)

// targetClient returns the running gateway as a connected client sees it, with
// that client's names, rights, protocol version and capabilities. The command
// line may override the version and the capabilities.
func targetClient(ctx context.Context, a *env.Env, f *Flags, name string, rest []string) (*Target, error) {
	r, err := control.RunningHere(ctx, a)
	if err != nil {
		return nil, err
	}
	var clients []web.Client
	if err := r.Get(ctx, "/api/v1/clients", &clients); err != nil {
		return nil, err
	}
	c := connectedClient(clients, name)
	if c == nil {
		var names []string
		for _, known := range clients {
			names = append(names, "@"+known.Name+" (@"+known.Session+")")
		}
		connected := cmp.Or(strings.Join(names, ", "), a.T("none", "无"))
		return nil, &env.ExitError{Code: env.ExitUsage, ID: env.CodeNotConnected,
			Err:     i18n.Errorf("no client is connected that is called %q", "没有名为 %q 的已连接客户端", name),
			Details: []env.Detail{{Label: a.T("connected", "已连接"), Text: connected}}}
	}
	f.Protocol = cmp.Or(f.Protocol, c.Protocol)
	f.client = cmp.Or(f.client, strings.TrimSuffix(c.Name+"/"+c.Version, "/"))
	if len(f.caps) == 0 && len(c.Capabilities) > 0 {
		f.caps = []string{string(c.Capabilities)}
	}
	return &Target{Label: "@" + name, merged: true, like: c, via: r, schema: c.Schema, Rest: rest}, nil
}

// connectedClient finds a client by session, or the newest client with the
// name.
func connectedClient(clients []web.Client, name string) *web.Client {
	var found *web.Client
	for i := range clients { // oldest first
		c := &clients[i]
		if c.Session == name {
			return c
		}
		if strings.EqualFold(c.Name, name) {
			found = c
		}
	}
	return found
}
