package config

import (
	"reflect"
	"runtime"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/config/variable"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// schema reads one schema without its servers.
func (r *reader) schema(e layout.Schema) {
	s := &Schema{Name: e.Name}
	setDefaults(reflect.ValueOf(s).Elem())
	switch {
	case e.Value == nil:
	case !schemaName().MatchString(e.Name):
		r.c.Add(problem.SeverityError, e.At, document.PathText(e.Path), problem.SchemaName, e.Name, i18n.New("is not allowed", "无效"))
	case reservedSchemas[e.Name]:
		r.c.Add(problem.SeverityError, e.At, document.PathText(e.Path), problem.SchemaName, e.Name, i18n.New("is taken by a URL of the gateway", "已被网关的 URL 占用"))
	}
	if e.Value != nil {
		var refs variable.References
		d := decoder{c: r.c, extra: []string{"mcpServers", "servers", "mcp_servers"}}
		d.object(r.dropUndefined(r.vars.Expand(e.Value, &refs), document.PathText(e.Path)), reflect.ValueOf(s).Elem(), document.PathText(e.Path))
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

// server reads one entry. If the entry waits for approval and replaces an
// approved one, the approved one stays in use.
func (r *reader) server(schema *Schema, e layout.Entry) {
	s, why := r.entry(schema, e)
	was := r.before(schema, e, s)
	if s.Pending {
		r.pending(s, why, was != nil)
	}
	if was != nil {
		was.Waiting, s = s, was
	}
	schema.Servers = append(schema.Servers, s)
}

// before returns the approved entry that s will replace. It is nil if there is
// none, or if it cannot be used any more.
func (r *reader) before(schema *Schema, e layout.Entry, s *Server) *Server {
	raw := r.Marks.Was(s.ID())
	if !s.Pending || raw == nil || r.o.AsFiled {
		return nil
	}
	own := *r
	own.c = &problem.List{} // problems of the old entry are not problems of the file
	if e.Value = document.Parse(raw, document.FormatJSON, own.c); e.Value == nil {
		return nil
	}
	was, why := own.entry(schema, e)
	if why != approval.WaitsNot || own.c.Failed() {
		return nil
	}
	return was
}

// entry reads one entry of the file, and returns why it waits for approval.
func (r *reader) entry(schema *Schema, e layout.Entry) (*Server, approval.Wait) {
	path := document.PathText(e.Path)
	s := &Server{Name: e.Name, Schema: schema.Name, Line: e.At.Line, Column: e.At.Col}
	if r.cfg.Project {
		s.project = r.cfg.Path
	}
	if fault := spelling.Fault(e.Name); !fault.Empty() {
		r.c.Add(problem.SeverityError, e.At, path, problem.ServerName, e.Name, fault)
	}
	own := layout.OwnServer(e.Value, path, r.c)
	s.Vars = variable.Names(own.Get("headers"), own.Get("env"))
	text := r.Layout.Approvable(e)
	scripts := r.record.Scripts(e.Value)
	s.entry, s.approval = i18n.SeenJSON(string(text.AppendJSON(nil, "", "  ")))+scripts.Text(), layout.Hash(text)
	s.shown = scripts.Shown(s.approval)
	vars := r.vars
	why := r.record.State(r.Marks, s.ID(), s.approval, scripts, func() string { return r.record.FilesOf(e.Value) })
	if s.Pending = why != approval.WaitsNot; s.Pending {
		vars = variable.AsWritten // resolve no variables of an entry that is not approved
		s.Taken = r.Marks.TakenBy(r.Layout, e)
	}
	var refs variable.References
	expanded := vars.Expand(own, &refs, "scripts") // in code, ${…} is JavaScript
	v := reflect.ValueOf(s).Elem()
	setDefaults(v)
	d := decoder{c: r.c}
	d.object(expanded, v, path)
	s.Missing = refs.Missing
	// Only Linux has a sandbox, so elsewhere an approval cannot ask for one.
	if !s.Sandbox.Written && r.Marks.Confined(s.ID()) && runtime.GOOS == "linux" {
		s.Sandbox.On = true
	}
	if r.Layout.Shape == layout.ShapeMCPX && s.Type == TypeHTTP && strings.Contains(s.URL, "/sse") {
		s.Type = TypeSSE
	}
	if t := r.Layout.Tester; t != nil && s.Timeout == 0 {
		f := field{typ: typeDuration, min: "1ms", max: "24h"}
		d.duration(t, v.FieldByName("Timeout"), f, "mcp-tester.timeout")
	}
	k := serverChecker{c: r.c, s: s, raw: expanded, path: path, home: r.o.Home, code: scripts.List, engine: r.cfg.Cluster.Agrees()}
	k.run()
	if len(s.Missing) > 0 && s.Enabled && schema.Enabled {
		r.undefined(s, expanded, path)
	}
	return s, why
}

// undefined reports that a server is off because variables are undefined.
func (r *reader) undefined(s *Server, n *document.Node, path string) {
	at := firstUnresolved(n)
	names := make([]string, len(s.Missing))
	for i, m := range s.Missing {
		names[i] = "${" + m + "}"
	}
	p := r.c.Add(problem.SeverityDisabled, at, path, problem.Undefined, strings.Join(names, ", "), s.Name)
	p.Hint, p.HintZH = UndefinedHint(s.Missing[0])
}

// UndefinedHint says how to define what an entry refers to, as the file names it.
func UndefinedHint(name string) (en, zh string) {
	source, key, _ := strings.Cut(name, ":")
	switch source {
	case "file":
		return "the file must exist and be readable", "文件必须存在且可读"
	case "secret", "input":
		command := i18n.Command("mcp-all-in-one", "secret", "set", key)
		return "store it with: " + command, "用 " + command + " 保存"
	}
	return "set it in the environment, or write ${" + name + ":-default}", "请设置该环境变量，或写成 ${" + name + ":-默认值}"
}

// firstUnresolved returns the position of the first undefined variable.
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

// sameNames refuses names in one schema that look the same.
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

// deniedTools applies the list disabled_tools of an MCPX file, whose items are
// "server.tool".
func (r *reader) deniedTools() {
	n := r.Layout.Denied
	if n == nil {
		return
	}
	var list []string
	d := decoder{c: r.c}
	d.list(n, reflect.ValueOf(&list).Elem(), field{typ: reflect.TypeFor[[]string]()}, "disabled_tools")
	denied := r.Layout.DeniedTools()
	for _, item := range n.Items {
		if slices.Contains(denied[""], item.Text) {
			r.c.Add(problem.SeverityWarning, item.Pos, "disabled_tools", problem.NoEffect, item.Text, i18n.New("it names no server", "它不对应任何服务器"))
		}
	}
	for _, schema := range r.cfg.Schemas {
		for _, s := range schema.Servers {
			s.Deny = append(slices.Clip(s.Deny), denied[s.ID()]...)
		}
	}
}
