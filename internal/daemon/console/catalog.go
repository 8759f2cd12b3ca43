package console

import (
	"context"
	"fmt"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/receipt"
	"mcp-all-in-one/internal/upstream/servers"
	"mcp-all-in-one/internal/web"
	"mcp-all-in-one/internal/web/api"
)

// consoleCatalog shows what clients see, and changes it.
type consoleCatalog struct{ consoleServers }

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
	asks := map[string]bool{}
	for _, u := range view.Upstreams {
		for name, tool := range u.Config().Tools {
			asks[u.Name()+"\n"+name] = tool.Ask
		}
	}
	page.Rows = catalog.Seen(catalog.Inventory(sourcesOf(view)), func(r *catalog.Row) bool {
		r.Ask = r.Kind == "tool" && asks[r.Server+"\n"+r.Own]
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
		if client.Session == session && who.MayLookInto(client.Owner, client.Schema, "", "") {
			lens, ok := c.in.Gateway.Lens(session)
			page.Lens = &lens
			return client.Schema, ok
		}
	}
	return "", false
}

// sourcesOf returns the servers of a schema as every client sees them.
func sourcesOf(view *servers.SchemaView) []catalog.Source {
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

// Switch writes a switch of a tool or prompt into the config file.
func (c *consoleCatalog) Switch(_ context.Context, schema, server, kind, name, key string, on bool) error {
	return c.edit(func(d *edit.Draft) error {
		entry := d.Entry(schema, server)
		if entry == nil {
			return i18n.Errorf("server %q: %w", "服务器 %q：%w", server, api.ErrNotFound)
		}
		return d.ChangeServer(schema, server, switched(entry, kind+"s", name, key, on))
	})
}

// switched returns an entry with a key of one of its items set. Items are
// enabled and do not ask by default, so it writes only what differs from that.
func switched(entry []byte, member, name, key string, on bool) []byte {
	filtered := jsonrpc.Get(entry, "allow") != nil || jsonrpc.Get(entry, "deny") != nil || jsonrpc.Get(entry, "disabled_tools") != nil
	if on != (key == "enabled") || key == "enabled" && filtered {
		return jsonrpc.Set(entry, fmt.Append(nil, on), member, name, key)
	}
	for _, path := range [][]string{{member, name, key}, {member, name}, {member}} {
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
