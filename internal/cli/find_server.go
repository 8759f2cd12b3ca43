package cli

import (
	"errors"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/spelling"
)

// findServer is the configured server that a command is about; "schema/name"
// names the schema too.
func (a *app) findServer(command, schema, name string) (*config.Server, error) {
	cfg, err := a.load(false)
	if err != nil {
		return nil, err
	}
	if s, n, ok := strings.Cut(name, "/"); ok && cfg.Schema(s) != nil {
		schema, name = s, n
	}
	found := cfg.Schema(schema)
	if found == nil {
		return nil, a.noSchema(&config.NameError{Name: schema, File: cfg.Path, Known: cfg.Names()})
	}
	if server := found.Server(name); server != nil {
		return server, nil
	}
	e := &exitError{code: exitUsage, id: codeNoServer, err: errors.New(a.t("no server "+name+" in "+cfg.Path, cfg.Path+" 中没有服务 "+name))}
	if len(cfg.Schemas) > 1 {
		e.err = errors.New(a.t("no server "+name+" in schema "+schema+" of "+cfg.Path, cfg.Path+" 的 schema "+schema+" 中没有服务 "+name))
	}
	if meant := a.meantServer(cfg, schema, name); meant != nil {
		e.hint = a.t("did you mean: ", "是否要用：") + a.againFor(command, meant)
	} else {
		e.hint = a.t("see what there is: ", "查看现有服务：") + a.again("list")
	}
	return nil, e
}

// meantServer is the server that was probably meant: of the same name in
// another schema, or of a name like it; nil when there is none.
func (a *app) meantServer(cfg *config.Config, schema, name string) *config.Server {
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

// nameError is a schema or server that the file to be changed does not have.
func (a *app) nameError(e *config.NameError) error {
	switch {
	case e.Fixed:
		return fail(exitUsage, codeNoSchema, a.t("move its servers under \"mcpServers\", then try again", "请先把服务移到 \"mcpServers\" 下"), "%s",
			a.t("the shape of "+e.File+" has no schemas", e.File+" 的格式没有 schema"))
	case e.Server:
		return fail(exitUsage, codeNoServer, a.t("see what there is: ", "查看现有服务：")+a.again("list"), "%s",
			a.t("no server "+e.Name+" in schema "+e.Schema+" of "+e.File, e.File+" 的 schema "+e.Schema+" 中没有服务 "+e.Name))
	}
	return a.noSchema(e)
}

func (a *app) noSchema(e *config.NameError) error {
	return &exitError{
		code: exitUsage, id: codeNoSchema, err: errors.New(a.t("no schema "+e.Name+" in "+e.File, e.File+" 中没有 schema "+e.Name)),
		details: []detail{{a.t("schemas", "现有"), strings.Join(e.Known, ", ")}},
		hint: a.t("use --schema with one of them; add NAME --schema "+e.Name+" --create-schema ... makes it",
			"用 --schema 指定其中之一；add NAME --schema "+e.Name+" --create-schema ... 可创建它"),
	}
}
