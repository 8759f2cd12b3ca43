package clients

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
)

// ImportSources lists the clients that have servers, and what importing would
// add.
func ImportSources(a *env.Env) error {
	have := haveEntries(a, config.DefaultSchema)
	type source struct {
		Client   string `json:"client"`
		Scope    string `json:"scope"`
		File     string `json:"file"`
		Servers  int    `json:"servers"`
		New      int    `json:"new"`
		Same     int    `json:"same"`
		Conflict int    `json:"conflicting"`
		Error    string `json:"error,omitempty"`
	}
	rows := []source{}
	add := func(c *Client, place clientSource) {
		row := source{Client: c.ID, Scope: place.scope, File: place.path}
		servers, err := readSource(a, c, place)
		if err != nil {
			row.Error = a.Lang.Of(err)
		}
		for _, s := range servers {
			t := translate(a, c, s)
			if t.skip != "" {
				continue
			}
			row.Servers++
			switch have.compare(t) {
			case "new":
				row.New++
			case "same":
				row.Same++
			default:
				row.Conflict++
			}
		}
		if row.Servers > 0 || place.scope != scopeLocal {
			rows = append(rows, row)
		}
	}
	for _, c := range All() {
		for _, place := range clientSources(a, &c, true) {
			add(&c, place)
		}
	}
	if env.ShowJSON(a, rows) {
		return nil
	}
	t := &env.Table{Head: []string{a.T("CLIENT", "客户端"), a.T("SERVERS", "服务器"), a.T("NEW", "新增"), a.T("SAME", "相同"), a.T("CONFLICTING", "冲突"), a.T("SCOPE", "范围"), a.T("FILE", "文件")},
		None: a.T("no config file of a known client was found", "没有找到已知客户端的配置文件")}
	for _, r := range rows {
		t.Add(r.Client, fmt.Sprint(r.Servers), fmt.Sprint(r.New), fmt.Sprint(r.Same), fmt.Sprint(r.Conflict), r.Scope, r.File)
	}
	a.Print(t)
	for _, r := range rows {
		if r.Error != "" {
			fmt.Fprintln(a.Stderr, r.Client+a.T(": ", "：")+r.Error)
		}
	}
	return nil
}

// entries are the servers of a file, by name.
type entries struct {
	named map[string]map[string]any
	path  string
	load  config.LoadOptions
}

// haveEntries returns the servers of our own file.
func haveEntries(a *env.Env, schema string) entries {
	have := entries{named: map[string]map[string]any{}, load: a.LoadOptions(false)}
	cfg, err := a.Load(false)
	if err != nil || cfg.Schema(schema) == nil {
		return have
	}
	have.path = cfg.Path
	for _, s := range cfg.Schema(schema).Servers {
		raw, err := RawEntry(a, cfg.Path, schema, s.Name)
		var entry map[string]any
		if err == nil && json.Unmarshal(raw, &entry) == nil {
			have.named[s.Name] = entry
		}
	}
	return have
}

// compare reports whether an entry is new, the same, or in conflict. Two
// entries are also the same if one contains a secret and the other refers to it
// by name.
func (h entries) compare(t Translation) string {
	old, ok := h.named[t.Name]
	if !ok {
		return "new"
	}
	raw, err := json.Marshal(t.entry)
	var entry map[string]any
	if err == nil && json.Unmarshal(raw, &entry) == nil && (reflect.DeepEqual(old, entry) || h.meansSame(t.Name, old, entry)) {
		return "same"
	}
	return "conflict"
}

// meansSame compares two entries after loading them with our variables
// expanded.
func (h entries) meansSame(name string, one, other map[string]any) bool {
	read := func(entry map[string]any) *config.Config {
		raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: entry}})
		if err != nil {
			return nil
		}
		cfg, err := config.Check(h.path, raw, h.load)
		if err != nil {
			return nil
		}
		server := cfg.Schema(config.DefaultSchema).Server(name)
		if server == nil || len(server.Missing) > 0 {
			return nil
		}
		server.Vars = nil // the notation is not a difference
		return cfg
	}
	a, b := read(one), read(other)
	if a == nil || b == nil {
		return false
	}
	return !slices.ContainsFunc(config.Diff(a, b), func(d config.SchemaDiff) bool { return !d.Empty() })
}
