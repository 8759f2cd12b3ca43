package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// LoadOptions say which file to load and what its variables mean.
type LoadOptions struct {
	Path        string                      // the flag; "" searches
	Personality Personality                 // "" is mcp-all-in-one
	Project     bool                        // use the file of the working tree
	Create      bool                        // write a missing file, where the personality does that
	Insecure    bool                        // accept a file that others may write
	LookupEnv   func(string) (string, bool) // nil is os.LookupEnv
	Home        string                      // "" is the user's
	WorkDir     string                      // "" is the process's
	System      string                      // "" is this machine's: Places.System
	Secrets     Store                       // nil is the store of the user in Home
	AsWritten   bool                        // look no variable up: what has one is taken as it is written
}

func (o LoadOptions) withDefaults() LoadOptions {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	if o.Personality == "" {
		o.Personality = MCPAllInOne
	}
	if o.Home == "" {
		o.Home = Home()
	}
	if o.WorkDir == "" {
		o.WorkDir, _ = os.Getwd()
	}
	if o.System == "" {
		o.System = o.places().System()
	}
	if o.Secrets == nil && o.Home != "" {
		o.Secrets = NewUserStore(UserDir(o.Home))
	}
	return o
}

func (o LoadOptions) places() Places { return Places{Getenv: o.LookupEnv, Home: o.Home} }

// Load finds, reads and checks the file. What it cannot use is a *LoadError
// that names every place; what is only odd is in Config.Problems.
func Load(o LoadOptions) (*Config, error) {
	o = o.withDefaults()
	found, err := Discover(o)
	if err != nil {
		return nil, err
	}
	c := &collector{file: found.Path}
	data, ok := readFile(found, o.Insecure, c)
	if !ok {
		return nil, c.err()
	}
	cfg, err := load(data, found, o, c)
	if err != nil {
		return nil, err
	}
	cfg.Created = found.Created
	return cfg, nil
}

// Check checks data as if it were the content of the file at path, the same
// way Load does, and touches nothing.
func Check(path string, data []byte, o LoadOptions) (*Config, error) {
	o = o.withDefaults()
	c := &collector{file: path}
	data, ok := decodeText(data, c)
	if !ok {
		return nil, c.err()
	}
	return load(data, Found{Path: path, Project: o.Project}, o, c)
}

func load(data []byte, found Found, o LoadOptions, c *collector) (*Config, error) {
	format := formatOf(realPath(found.Path), data)
	root := parse(data, format, c)
	if root == nil {
		return nil, c.err()
	}
	l := takeApart(root, c)
	if l == nil {
		return nil, c.err()
	}
	r := &reader{
		c: c, o: o, layout: l,
		vars: &resolver{lookup: o.LookupEnv, home: o.Home, work: o.WorkDir, base: filepath.Dir(found.Path), secrets: o.Secrets, asWritten: o.AsWritten},
		cfg:  &Config{Path: found.Path, Format: format, Shape: l.shape, Project: found.Project, home: o.Home},
	}
	r.read()
	if err := c.err(); err != nil {
		return nil, err
	}
	r.cfg.Problems = c.problems
	return r.cfg, nil
}

// reader turns a layout into a Config.
type reader struct {
	c      *collector
	o      LoadOptions
	layout *layout
	vars   *resolver
	cfg    *Config
	record *Approvals
	marks  marks
}

func (r *reader) read() {
	setDefaults(reflect.ValueOf(r.cfg).Elem())
	r.takeMarks()
	r.top()
	for _, s := range r.layout.schemas {
		r.schema(s)
	}
	for _, e := range r.layout.entries {
		if s := r.cfg.Schema(e.schema); s != nil {
			r.server(s, e)
		}
	}
	r.sameNames()
	r.deniedTools()
	r.checkTop()
}

// top reads the sections beside the servers.
func (r *reader) top() {
	v := reflect.ValueOf(r.cfg).Elem()
	server := r.layout.top.get("server")
	r.cfg.Server.PortSet = server != nil && server.has("port")
	for _, m := range r.layout.top.members {
		one := r.layout.top.with([]member{m})
		if r.cfg.Project && m.key != "mode" && m.key != "naming" {
			r.c.add(SeverityWarning, m.pos, m.key, codeProjectKey, m.key)
			continue
		}
		var refs references
		one = r.vars.expand(one, &refs)
		one = r.dropUndefined(one, m.key)
		d := decoder{c: r.c, soft: m.key == "cli", extra: shapeKeys()}
		d.object(one, v, "")
	}
	r.cfg.Logging.File = r.absolute(r.cfg.Logging.File)
	r.cfg.Access.Keys = r.absolute(r.cfg.Access.Keys)
	for _, path := range []*string{&r.cfg.Server.TLS.Cert, &r.cfg.Server.TLS.Key, &r.cfg.Server.TLS.ACME.Cache} {
		*path = r.absolute(*path)
	}
	if r.cfg.Logging.Level == "warning" {
		r.cfg.Logging.Level = "warn"
	}
	access := r.layout.top.get("access")
	if access == nil || !access.has("enabled") {
		r.cfg.Access.Enabled = r.cfg.Access.Keys != "" || r.cfg.Access.Key != "" || r.cfg.Access.OAuth.Issuer != ""
	}
}

// shapeKeys are the keys that hold servers: never unknown at the top, and
// worth suggesting.
func shapeKeys() []string {
	var keys []string
	for _, h := range holders {
		keys = appendNew(keys, h.path[0].key)
	}
	return append(keys, "disabled_tools")
}

// dropUndefined removes values that lack a variable. Who may enter is never
// decided by a value that is not there.
func (r *reader) dropUndefined(n *node, path string) *node {
	if n.unresolved && r.vars.asWritten {
		return n
	}
	if n.unresolved {
		sev := SeverityWarning
		if strings.HasPrefix(path, "access") || strings.HasPrefix(path, "cluster") {
			sev = SeverityError
		}
		_, _, missing := r.vars.text(n.raw)
		r.c.add(sev, n.pos, path, codeUndefTop, strings.Join(missing, ", "))
		return &node{pos: n.pos}
	}
	c := *n
	c.items, c.members = slices.Clone(n.items), slices.Clone(n.members)
	for i := range c.items {
		c.items[i] = r.dropUndefined(c.items[i], path)
	}
	for i, m := range c.members {
		child := path
		if m.key != path {
			child = join(path, m.key)
		}
		c.members[i].value = r.dropUndefined(m.value, child)
	}
	return &c
}

// absolute makes a path of the file independent of where we run.
func (r *reader) absolute(path string) string {
	if path == "" {
		return ""
	}
	path = expandHome(path, r.o.Home)
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.cfg.Path), path)
	}
	return path
}
