package config

import (
	"reflect"
	"runtime"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// schema reads one schema without its servers.
func (r *reader) schema(e schemaEntry) {
	s := &Schema{Name: e.name}
	setDefaults(reflect.ValueOf(s).Elem())
	switch {
	case e.value == nil:
	case !schemaName.MatchString(e.name):
		r.c.Add(problem.SeverityError, e.at, document.PathText(e.path), problem.SchemaName, e.name, i18n.New("is not allowed", "不允许使用"))
	case reservedSchemas[e.name]:
		r.c.Add(problem.SeverityError, e.at, document.PathText(e.path), problem.SchemaName, e.name, i18n.New("is taken by a URL of the gateway", "已被网关的 URL 占用"))
	}
	if e.value != nil {
		var refs references
		d := decoder{c: r.c, extra: []string{"mcpServers", "servers", "mcp_servers"}}
		d.object(r.dropUndefined(r.vars.expand(e.value, &refs), document.PathText(e.path)), reflect.ValueOf(s).Elem(), document.PathText(e.path))
	}
	s.Mode = firstOf(s.Mode, r.cfg.Mode, r.o.Personality.mode())
	s.Naming = firstOf(s.Naming, r.cfg.Naming)
	s.Fit = firstOf(s.Fit, r.cfg.Fit)
	if s.Code == nil {
		s.Code = &r.cfg.Code
	}
	r.cfg.Schemas = append(r.cfg.Schemas, s)
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// server reads one entry.
func (r *reader) server(schema *Schema, e entry) {
	path := document.PathText(e.path)
	s := &Server{Name: e.name, Schema: schema.Name, Line: e.at.Line, Column: e.at.Col}
	if fault := spelling.Fault(e.name); !fault.Empty() {
		r.c.Add(problem.SeverityError, e.at, path, problem.ServerName, e.name, fault)
	}
	own := ownServer(e.value, path, r.c)
	s.Vars = appendNew(placeholders(own.Get("headers")), placeholders(own.Get("env"))...)
	r.layout.takeApproval(s, e)
	vars := r.vars
	why := r.record.state(r.marks, s.ID(), s.approval, func() string { return r.record.filesOf(e.value) })
	if s.Pending = why != waitsNot; s.Pending {
		vars = asWritten // nothing is looked up for what nobody has approved
		s.taken = r.layout.takenBy(r.marks, e)
		r.pending(s, why)
	}
	var refs references
	expanded := vars.expand(own, &refs)
	v := reflect.ValueOf(s).Elem()
	setDefaults(v)
	d := decoder{c: r.c}
	d.object(expanded, v, path)
	s.Missing = refs.missing
	// Where there is no sandbox yet, an approval cannot ask for one.
	if !s.Sandbox.Written && r.marks[s.ID()].confined && runtime.GOOS == "linux" {
		s.Sandbox.On = true
	}
	if r.layout.shape == ShapeMCPX && s.Type == TypeHTTP && strings.Contains(s.URL, "/sse") {
		s.Type = TypeSSE
	}
	if t := r.layout.tester; t != nil && s.Timeout == 0 {
		f := field{typ: typeDuration, min: "1ms", max: "24h"}
		d.duration(t, v.FieldByName("Timeout"), f, "mcp-tester.timeout")
	}
	k := serverChecker{c: r.c, s: s, raw: expanded, path: path, home: r.o.Home}
	k.run()
	if len(s.Missing) > 0 && s.Enabled && schema.Enabled {
		r.undefined(s, expanded, path)
	}
	schema.Servers = append(schema.Servers, s)
}

// undefined says why a server is off.
func (r *reader) undefined(s *Server, n *document.Node, path string) {
	at := firstUnresolved(n)
	names := make([]string, len(s.Missing))
	for i, m := range s.Missing {
		names[i] = "${" + m + "}"
	}
	p := r.c.Add(problem.SeverityDisabled, at, path, problem.Undefined, strings.Join(names, ", "), s.Name)
	p.Hint, p.HintZH = undefinedHint(s.Missing[0])
}

func undefinedHint(name string) (en, zh string) {
	source, key, _ := strings.Cut(name, ":")
	switch source {
	case "file":
		return "the file must exist and be readable", "文件必须存在且可读"
	case "secret", "input":
		return "store it with: mcp-all-in-one secret set " + key, "用 mcp-all-in-one secret set " + key + " 保存"
	}
	return "set it in the environment, or write ${" + name + ":-default}", "请设置该环境变量，或写成 ${" + name + ":-默认值}"
}

// firstUnresolved returns where the first undefined variable stands.
func firstUnresolved(n *document.Node) problem.Pos {
	if n.Unresolved {
		return n.Pos
	}
	for _, v := range n.Items {
		if at := firstUnresolved(v); at.Line > 0 {
			return at
		}
	}
	for _, m := range n.Members {
		if at := firstUnresolved(m.Value); at.Line > 0 {
			return at
		}
	}
	return problem.Pos{}
}

// sameNames refuses names in one schema that cannot be told apart.
func (r *reader) sameNames() {
	for _, schema := range r.cfg.Schemas {
		seen := make(map[string]*Server, len(schema.Servers))
		for _, s := range schema.Servers {
			if first := seen[fold(s.Name)]; first != nil {
				r.c.Add(problem.SeverityError, problem.Pos{Line: s.Line, Col: s.Column}, s.ID(), problem.SameName, s.Name, first.Name, first.Line, first.Column)
				continue
			}
			seen[fold(s.Name)] = s
		}
	}
}

// deniedTools applies MCPX's list of "server.tool".
func (r *reader) deniedTools() {
	n := r.layout.denied
	if n == nil {
		return
	}
	var list []string
	d := decoder{c: r.c}
	d.list(n, reflect.ValueOf(&list).Elem(), field{typ: reflect.TypeFor[[]string]()}, "disabled_tools")
	denied := r.layout.deniedTools()
	for _, item := range n.Items {
		if slices.Contains(denied[""], item.Text) {
			r.c.Add(problem.SeverityWarning, item.Pos, "disabled_tools", problem.NoEffect, item.Text, i18n.New("it names no server", "它不对应任何服务"))
		}
	}
	for _, schema := range r.cfg.Schemas {
		for _, s := range schema.Servers {
			s.Deny = append(slices.Clip(s.Deny), denied[s.ID()]...)
		}
	}
}
