package config

import (
	"cmp"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/config/variable"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/secrets"
)

// LoadOptions say which file to load and what its variables mean.
type LoadOptions struct {
	Path        string                      // value of the flag --config; "" searches
	Personality Personality                 // "" is mcp-all-in-one
	Project     bool                        // use the file of the working tree
	Create      bool                        // write a missing file, if the personality does that
	Insecure    bool                        // accept a file that others can write
	LookupEnv   func(string) (string, bool) // nil is os.LookupEnv
	Home        string                      // "" is the user's home directory
	WorkDir     string                      // "" is the working directory of the process
	System      string                      // "" is Places.System of this machine
	Secrets     secrets.Store               // nil is the secret store of the user in Home
	AsWritten   bool                        // resolve no variables: values keep their placeholders
	AsFiled     bool                        // return the entry in the file even if it waits for approval while the previous entry runs
	Share       approval.Sharing            // what replicas share; nil without a cluster
	Cluster     ClusterFlags                // flags that override the section cluster
	Deployed    bool                        // the file is deployed to replicas: the gateway does not write it
}

func (o LoadOptions) WithDefaults() LoadOptions {
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	o.Personality = cmp.Or(o.Personality, MCPAllInOne)
	o.Home = cmp.Or(o.Home, folders.Home())
	if o.WorkDir == "" {
		o.WorkDir, _ = os.Getwd()
	}
	o.System = cmp.Or(o.System, o.places().System())
	if o.Secrets == nil && o.Home != "" {
		o.Secrets = secrets.NewUserStore(folders.UserDir(o.Home))
	}
	return o
}

// Again returns the options with which the file of cfg is loaded again.
func (o LoadOptions) Again(cfg *Config) LoadOptions {
	o.Path, o.Create, o.Project, o.Home = cfg.Path, false, cfg.Project, cfg.home
	return o
}

func (o LoadOptions) places() folders.Places {
	return folders.Places{Getenv: o.LookupEnv, Home: o.Home}
}

// Load finds, reads and checks the file. If the file cannot be used, the error
// is a *LoadError that lists every problem with its position; warnings are in
// Config.Problems.
func Load(o LoadOptions) (*Config, error) {
	o = o.WithDefaults()
	found, err := Discover(o)
	if err != nil {
		return nil, err
	}
	c := &problem.List{File: found.Path}
	data, ok := readFile(found, o.Insecure, c)
	if !ok {
		return nil, c.Err()
	}
	cfg, err := load(data, found, o, c)
	if err != nil {
		return nil, err
	}
	cfg.Created = found.Created
	return cfg, nil
}

// Check checks data as Load does, as if it were the content of the file at
// path. It writes nothing.
func Check(path string, data []byte, o LoadOptions) (*Config, error) {
	o = o.WithDefaults()
	c := &problem.List{File: path}
	data, ok := document.Decode(data, c)
	if !ok {
		return nil, c.Err()
	}
	return load(data, Found{Path: path, Project: o.Project}, o, c)
}

func load(data []byte, found Found, o LoadOptions, c *problem.List) (*Config, error) {
	format := document.FormatOf(disk.RealPath(found.Path), data)
	root := document.Parse(data, format, c)
	if root == nil {
		return nil, c.Err()
	}
	l := layout.Of(root, c)
	if l == nil {
		return nil, c.Err()
	}
	r := &reader{
		c: c, o: o, Layout: l,
		vars: &variable.Resolver{Lookup: o.LookupEnv, Home: o.Home, Work: o.WorkDir, Base: filepath.Dir(found.Path), Secrets: o.Secrets, AsWritten: o.AsWritten},
		cfg:  &Config{Path: found.Path, Format: format, Shape: l.Shape, Project: found.Project, Named: variable.Names(root), home: o.Home, share: o.Share},
	}
	r.read()
	if err := c.Err(); err != nil {
		return nil, err
	}
	r.cfg.Problems = c.Problems
	return r.cfg, nil
}

// reader turns a layout into a Config.
type reader struct {
	c      *problem.List
	o      LoadOptions
	Layout *layout.Layout
	vars   *variable.Resolver
	cfg    *Config
	record *approval.Record
	Marks  approval.Marks
}

func (r *reader) read() {
	setDefaults(reflect.ValueOf(r.cfg).Elem())
	r.takeMarks()
	r.top()
	for _, s := range r.Layout.Schemas {
		r.schema(s)
	}
	for _, e := range r.Layout.Entries {
		if s := r.cfg.Schema(e.Schema); s != nil {
			r.server(s, e)
		}
	}
	r.sameNames()
	r.deniedTools()
	r.checkTop()
}

// top reads the top-level sections.
func (r *reader) top() {
	v := reflect.ValueOf(r.cfg).Elem()
	server := r.Layout.Top.Get("server")
	r.cfg.Server.PortSet = server != nil && server.Has("port")
	for _, m := range r.Layout.Top.Members {
		one := r.Layout.Top.With([]document.Member{m})
		if r.cfg.Project && m.Key != "mode" && m.Key != "naming" {
			r.c.Add(problem.SeverityWarning, m.Pos, m.Key, problem.ProjectKey, m.Key)
			continue
		}
		var refs variable.References
		one = r.vars.Expand(one, &refs)
		one = r.dropUndefined(one, m.Key)
		d := decoder{c: r.c, soft: m.Key == "cli", extra: layout.HolderKeys()}
		d.object(one, v, "")
	}
	r.cfg.Cluster.override(&r.o.Cluster)
	r.cfg.Logging.File = r.absolute(r.cfg.Logging.File)
	r.cfg.Access.Keys = r.absolute(r.cfg.Access.Keys)
	for _, path := range []*string{&r.cfg.Audit.File, &r.cfg.Server.TLS.Cert, &r.cfg.Server.TLS.Key, &r.cfg.Server.TLS.ACME.Cache, &r.cfg.Cluster.NATS.Creds} {
		*path = r.absolute(*path)
	}
	if r.cfg.Logging.Level == "warning" {
		r.cfg.Logging.Level = "warn"
	}
	access := r.Layout.Top.Get("access")
	if access == nil || !access.Has("enabled") {
		r.cfg.Access.Enabled = r.cfg.Access.Keys != "" || r.cfg.Access.Key != "" || r.cfg.Access.OAuth.Issuer != ""
	}
}

// dropUndefined removes values with an undefined variable. Access must never
// depend on a value that is missing, so there it is an error.
func (r *reader) dropUndefined(n *document.Node, path string) *document.Node {
	if n.Unresolved && r.vars.AsWritten {
		return n
	}
	if n.Unresolved {
		sev := problem.SeverityWarning
		if strings.HasPrefix(path, "access") || strings.HasPrefix(path, "cluster") {
			sev = problem.SeverityError
		}
		_, _, missing := r.vars.Text(n.Raw)
		r.c.Add(sev, n.Pos, path, problem.UndefTop, strings.Join(missing, ", "))
		return &document.Node{Pos: n.Pos}
	}
	c := *n
	c.Items, c.Members = slices.Clone(n.Items), slices.Clone(n.Members)
	for i := range c.Items {
		c.Items[i] = r.dropUndefined(c.Items[i], path)
	}
	for i, m := range c.Members {
		child := path
		if m.Key != path {
			child = document.Join(path, m.Key)
		}
		c.Members[i].Value = r.dropUndefined(m.Value, child)
	}
	return &c
}

// absolute makes a path in the file relative to the folder of the file instead
// of the working directory.
func (r *reader) absolute(path string) string {
	if path == "" {
		return ""
	}
	return disk.From(filepath.Dir(r.cfg.Path), disk.ExpandHome(path, r.o.Home))
}
