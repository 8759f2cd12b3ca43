package config

import (
	"reflect"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/digest"
)

// SchemaDiff says how the servers of one schema changed.
type SchemaDiff struct {
	Schema  string
	Added   []*Server
	Removed []*Server
	Changed []*Server // needs a new process or connection; the new version
	Updated []*Server // only the policy changed; the new version
	Kept    []*Server // unchanged; the new version
}

// Empty reports whether nothing changed.
func (d SchemaDiff) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+len(d.Updated) == 0
}

// Diff compares two versions of a file: first the schemas of the new one in
// their order, then the schemas that were removed. Either version may be nil. A
// schema that is switched off counts as a schema without servers.
func Diff(old, new *Config) []SchemaDiff {
	var diffs []SchemaDiff
	for _, s := range schemasOf(new) {
		diffs = append(diffs, diffSchema(s.Name, serversOf(old, s.Name), serversOf(new, s.Name)))
	}
	for _, s := range schemasOf(old) {
		if new == nil || new.Schema(s.Name) == nil {
			diffs = append(diffs, diffSchema(s.Name, serversOf(old, s.Name), nil))
		}
	}
	return diffs
}

func schemasOf(c *Config) []*Schema {
	if c == nil {
		return nil
	}
	return c.Schemas
}

func serversOf(c *Config, schema string) []*Server {
	if c == nil {
		return nil
	}
	s := c.Schema(schema)
	if s == nil || !s.Enabled {
		return nil
	}
	return s.Servers
}

func diffSchema(name string, old, new []*Server) SchemaDiff {
	d := SchemaDiff{Schema: name}
	before := make(map[string]*Server, len(old))
	for _, s := range old {
		before[s.Name] = s
	}
	for _, s := range new {
		was := before[s.Name]
		delete(before, s.Name)
		switch {
		case was == nil:
			d.Added = append(d.Added, s)
		case was.Hash() != s.Hash() || was.Runnable() != s.Runnable():
			d.Changed = append(d.Changed, s)
		case was.policyHash() != s.policyHash():
			d.Updated = append(d.Updated, s)
		default:
			d.Kept = append(d.Kept, s)
		}
	}
	for _, s := range old {
		if before[s.Name] != nil {
			d.Removed = append(d.Removed, s)
		}
	}
	return d
}

// local are the settings of one machine. They may differ between the replicas
// of a cluster.
var local = []string{"server.", "cluster.", "logging.", "access.keys"}

// Digest returns a digest of the configuration: the servers as the file has
// them and all settings except those of one machine.
func (c *Config) Digest() string {
	h := digest.New()
	fresh := reflect.ValueOf(new(Schema)).Elem()
	for _, schema := range c.Schemas {
		h.Add("schema", schema.Name)
		for _, v := range appendValues(nil, "", reflect.ValueOf(schema).Elem(), fresh) {
			h.Add(v.Key, string(v.Value))
		}
		for _, s := range schema.Servers {
			h.Add(s.Name, s.Entry())
		}
	}
	for _, v := range Values(c) {
		if !slices.ContainsFunc(local, func(prefix string) bool { return strings.HasPrefix(v.Key, prefix) }) {
			h.Add(v.Key, string(v.Value))
		}
	}
	return h.Sum()[:16]
}
