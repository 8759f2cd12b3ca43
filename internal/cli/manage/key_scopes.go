package manage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/web"
)

// checkScopes refuses an unknown schema: a key for it gives access to nothing,
// and schemas are few and written by hand. For an unknown server or tool it
// only prints a warning, because servers and tools come and go.
func checkScopes(ctx context.Context, a *env.Env, cfg *config.Config, grant access.Grant) error {
	schemas := []string{config.DefaultSchema}
	var servers, granted []string
	for _, s := range cfg.Schemas {
		if !slices.Contains(schemas, s.Name) {
			schemas = append(schemas, s.Name)
		}
		servers = append(servers, s.Names()...)
		if len(grant.Schemas) == 0 || slices.ContainsFunc(grant.Schemas, func(p string) bool { return access.Matches(p, s.Name) }) {
			granted = append(granted, s.Names()...)
		}
	}
	for _, p := range grant.Schemas {
		if !anyMatches(p, schemas) {
			return env.Fail(env.ExitUsage, env.CodeUsage, a.T("existing schemas: ", "现有的 schema：")+strings.Join(schemas, ", "), "%s%s", a.T("no schema matches ", "没有匹配的 schema："), "schema:"+p)
		}
	}
	for _, p := range grant.Servers {
		warnScope(a, "server:"+p, p, servers, granted)
	}
	var tools []string
	asked := false
	for _, p := range grant.Tools {
		server, _, bound := strings.Cut(p, "/")
		if bound && !anyMatches(server, servers) {
			warnScope(a, "tool:"+p, server, servers, granted)
			continue
		}
		if !asked {
			tools, asked = knownTools(ctx, a, cfg), true
		}
		if len(tools) > 0 && !anyMatches(p, tools) {
			fmt.Fprintf(a.Stderr, a.T("warning: no tool matches tool:%s now\n", "警告：目前没有工具匹配 tool:%s\n"), p)
		}
	}
	return nil
}

func anyMatches(pattern string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return access.Matches(pattern, name) })
}

// warnScope warns that a scope matches no server now, or none in the schemas of
// the key.
func warnScope(a *env.Env, scope, pattern string, servers, granted []string) {
	switch {
	case anyMatches(pattern, granted):
	case anyMatches(pattern, servers):
		fmt.Fprintf(a.Stderr, a.T("warning: no server of the schemas in this key matches %s now\n", "警告：此密钥的 schema 中目前没有服务器匹配 %s\n"), scope)
	default:
		fmt.Fprintf(a.Stderr, a.T("warning: no server matches %s now: %s\n", "警告：目前没有服务器匹配 %s：%s\n"), scope, strings.Join(servers, ", "))
	}
}

// knownTools returns the tools of the running gateway, each by its own name and
// prefixed with its server; none if no gateway runs.
func knownTools(ctx context.Context, a *env.Env, cfg *config.Config) []string {
	r := control.Running(ctx, a, cfg.Path)
	if r == nil {
		return nil
	}
	var names []string
	for _, s := range cfg.Schemas {
		var page web.CatalogPage
		if r.Get(ctx, "/api/v1/catalog?schema="+s.Name, &page) != nil {
			return nil // only the warning is omitted
		}
		for _, row := range page.Rows {
			if row.Kind == "tool" {
				names = append(names, row.Own, row.Server+"/"+row.Own)
			}
		}
	}
	return names
}
