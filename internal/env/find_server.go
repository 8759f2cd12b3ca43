package env

import (
	"cmp"
	"errors"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// FindServer returns the configured server that a command names. "schema/name"
// also names the schema.
func FindServer(a *Env, command, schema, name string) (*config.Server, error) {
	cfg, err := a.Load(false)
	if err != nil {
		return nil, err
	}
	schema, name = SplitSchema(cfg, schema, name)
	found := cfg.Schema(schema)
	if found == nil && (schema == "" || schema == config.DefaultSchema) {
		for _, s := range cfg.Schemas {
			if s.Server(name) != nil {
				return nil, Fail(ExitUsage, CodeNoServer, a.T("it is in another schema: --schema ", "它在另一个 schema 中：--schema ")+s.Name, "%s",
					a.T("no server "+name+" in schema default of "+cfg.Path, cfg.Path+" 的 schema default 中没有服务器 "+name))
			}
		}
	}
	if found == nil {
		return nil, noSchema(a, &edit.NameError{Name: schema, File: cfg.Path, Known: cfg.Names()})
	}
	if server := found.Server(name); server != nil {
		return server, nil
	}
	e := &ExitError{Code: ExitUsage, ID: CodeNoServer, Err: errors.New(a.T("no server "+name+" in "+cfg.Path, cfg.Path+" 中没有服务器 "+name))}
	if len(cfg.Schemas) > 1 {
		e.Err = errors.New(a.T("no server "+name+" in schema "+schema+" of "+cfg.Path, cfg.Path+" 的 schema "+schema+" 中没有服务器 "+name))
	}
	if meant := meantServer(a, cfg, schema, name); meant != nil {
		e.Hint = a.T("did you mean: ", "是否要用：") + a.AgainFor(command, meant)
	} else {
		e.Hint = a.T("see what there is: ", "查看现有服务器：") + a.Again("list")
	}
	return nil, e
}

// SplitSchema splits SCHEMA/NAME, as status prints it. A server whose own name
// has the slash comes first.
func SplitSchema(cfg *config.Config, schema, name string) (string, string) {
	own := cfg.Schema(cmp.Or(schema, config.DefaultSchema))
	s, n, ok := strings.Cut(name, "/")
	if ok && cfg.Schema(s) != nil && (own == nil || own.Server(name) == nil) {
		return s, n
	}
	return schema, name
}

// meantServer returns the server that was probably meant: one with the same
// name in another schema, or with a similar name; nil if there is none.
func meantServer(a *Env, cfg *config.Config, schema, name string) *config.Server {
	for _, s := range cfg.Schemas {
		if server := s.Server(name); server != nil {
			return server
		}
	}
	if near := spelling.Nearest(name, cfg.Schema(schema).Names()); near != "" {
		return cfg.Schema(schema).Server(near)
	}
	return nil
}

// nameError returns the error for a schema or server that the file does not
// have.
func nameError(a *Env, e *edit.NameError) error {
	switch {
	case e.Fixed:
		return Fail(ExitUsage, codeNoSchema, a.T("move its servers under \"mcpServers\", then try again", "请先把服务器移到 \"mcpServers\" 下"), "%s",
			a.T("the shape of "+e.File+" has no schemas", e.File+" 的格式没有 schema"))
	case e.Server:
		return Fail(ExitUsage, CodeNoServer, a.T("see what there is: ", "查看现有服务器：")+a.Again("list"), "%s",
			a.T("no server "+e.Name+" in schema "+e.Schema+" of "+e.File, e.File+" 的 schema "+e.Schema+" 中没有服务器 "+e.Name))
	}
	return noSchema(a, e)
}

func noSchema(a *Env, e *edit.NameError) error {
	return &ExitError{
		Code: ExitUsage, ID: codeNoSchema, Err: errors.New(a.T("no schema "+e.Name+" in "+e.File, e.File+" 中没有 schema "+e.Name)),
		Details: []Detail{{a.T("schemas", "现有"), strings.Join(e.Known, ", ")}},
		Hint: a.T("use --schema with one of them; add NAME --schema "+e.Name+" --create-schema ... makes it",
			"用 --schema 指定其中之一；add NAME --schema "+e.Name+" --create-schema ... 可创建它"),
	}
}

// TargetOf returns the command or URL of a server as a user would type it.
func TargetOf(s *config.Server) string {
	if s.URL != "" {
		return s.URL
	}
	if s.Type == config.TypeScripts {
		return strings.Join(SortedKeys(s.Scripts), ", ")
	}
	return i18n.Command(append([]string{s.Command}, s.Args...)...)
}
