package console

import (
	"context"
	"fmt"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/web"
	"mcp-all-in-one/internal/web/api"
)

// consoleCatalog shows what clients see, and changes it.
type consoleCatalog struct {
	in  *instance.Instance
	env *env.Env
}

// Look returns what a principal sees of a schema, or of the schema of a
// session.
func (c *consoleCatalog) Look(who access.Principal, schema, session string) (web.CatalogPage, error) {
	page := web.CatalogPage{Schemas: c.in.SchemasOf(who), Fits: []receipt.Fit{}}
	if session != "" {
		var ok bool
		if schema, ok = c.look(who, session, &page); !ok {
			return page, i18n.Errorf("the client of session %s: %w", "会话 %s 的客户端：%w", session, api.ErrNotFound)
		}
	}
	if schema == "" {
		schema = config.DefaultSchema
		if len(page.Schemas) > 0 {
			schema = page.Schemas[0]
		}
	}
	view := c.in.Set.Snapshot().Schema(schema)
	if view == nil || !who.MaySee(schema, "", "") {
		return page, i18n.Errorf("schema %q: %w", "schema %q：%w", schema, api.ErrNotFound)
	}
	page.Schema = schema
	page.Rows = catalog.Seen(catalog.Inventory(sourcesOf(view)), func(r *catalog.Row) bool {
		return who.MaySee(schema, r.Server, r.Own) && (r.Kind == "tool" || who.MayRead(schema, r.Server))
	})
	if who.Unbound() { // the figures count all servers
		receipt := c.in.Gateway.Receipts()[schema]
		page.Mode, page.Advice, page.List = receipt.Mode, receipt.Advice, receipt.List
		page.Fits = c.in.Gateway.Fits(schema)
	}
	return page, nil
}

// look adds what the client of a session sees, and returns its schema. It
// returns false if there is no such client that the principal may look at.
func (c *consoleCatalog) look(who access.Principal, session string, page *web.CatalogPage) (schema string, ok bool) {
	for _, client := range c.in.Gateway.Clients() {
		if client.Session == session && who.MayLookAt(client.Principal) {
			lens, ok := c.in.Gateway.Lens(session)
			page.Lens = &lens
			return client.Schema, ok
		}
	}
	return "", false
}

// sourcesOf returns the servers of a schema as every client sees them.
func sourcesOf(view *upstream.SchemaView) []catalog.Source {
	var sources []catalog.Source
	for _, u := range view.Upstreams {
		if u.Absent() {
			continue
		}
		state, _ := u.State()
		policy := u.Policy()
		if view.Config.Naming == "none" {
			policy.Naming = catalog.NamingNone
		}
		sources = append(sources, catalog.Source{Server: u.Name(), Features: u.Features(nil), Policy: policy, State: string(state)})
	}
	return sources
}

// Switch writes into the config file whether clients see a tool or prompt.
func (c *consoleCatalog) Switch(_ context.Context, schema, server, kind, name string, on bool) error {
	servers := &consoleServers{in: c.in, env: c.env}
	return servers.edit(func(d *edit.Draft) error {
		entry := d.Entry(schema, server)
		if entry == nil {
			return i18n.Errorf("server %q: %w", "服务 %q：%w", server, api.ErrNotFound)
		}
		return d.ChangeServer(schema, server, switched(entry, kind+"s", name, on))
	})
}

// switched returns an entry with one of its items switched on or off. Items are
// on by default, so it writes only what differs from that.
func switched(entry []byte, member, name string, on bool) []byte {
	filtered := jsonrpc.Get(entry, "allow") != nil || jsonrpc.Get(entry, "deny") != nil || jsonrpc.Get(entry, "disabled_tools") != nil
	if !on || filtered {
		return jsonrpc.Set(entry, fmt.Append(nil, on), member, name, "enabled")
	}
	for _, path := range [][]string{{member, name, "enabled"}, {member, name}, {member}} {
		value := jsonrpc.Get(entry, path...)
		if value == nil || len(path) < 3 && hasMembers(value) {
			continue
		}
		entry = jsonrpc.Set(entry, nil, path...)
	}
	return entry
}

func hasMembers(object []byte) bool {
	for range jsonrpc.Members(object) {
		return true
	}
	return false
}
