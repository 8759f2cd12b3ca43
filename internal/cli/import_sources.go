package cli

import (
	"encoding/json"
	"fmt"
	"reflect"

	"mcp-all-in-one/internal/config"
)

// importSources lists the clients that have servers, and what they would add.
func importSources(a *app) error {
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
	add := func(c *client, place clientSource) {
		row := source{Client: c.id, Scope: place.scope, File: place.path}
		servers, err := readSource(a, c, place)
		if err != nil {
			row.Error = a.lang.Of(err)
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
	for _, c := range clients() {
		for _, place := range clientSources(a, &c, true) {
			add(&c, place)
		}
	}
	if a.asJSON {
		writeLine(a.Stdout, rows)
		return nil
	}
	t := &table{head: []string{a.t("CLIENT", "客户端"), a.t("SERVERS", "服务"), a.t("NEW", "新增"), a.t("SAME", "相同"), a.t("CONFLICTING", "冲突"), a.t("SCOPE", "范围"), a.t("FILE", "文件")},
		none: a.t("no client with a file was found", "没有找到客户端的配置文件")}
	for _, r := range rows {
		t.add(r.Client, fmt.Sprint(r.Servers), fmt.Sprint(r.New), fmt.Sprint(r.Same), fmt.Sprint(r.Conflict), r.Scope, r.File)
	}
	a.print(t)
	for _, r := range rows {
		if r.Error != "" {
			fmt.Fprintln(a.Stderr, r.Client+a.t(": ", "：")+r.Error)
		}
	}
	return nil
}

// entries are servers as a file has them, by name.
type entries struct {
	named map[string]map[string]any
	path  string
	load  config.LoadOptions
}

// haveEntries are the servers of our own file.
func haveEntries(a *app, schema string) entries {
	have := entries{named: map[string]map[string]any{}, load: a.loadOptions(false)}
	cfg, err := a.load(false)
	if err != nil || cfg.Schema(schema) == nil {
		return have
	}
	have.path = cfg.Path
	for _, s := range cfg.Schema(schema).Servers {
		raw, err := rawEntry(a, cfg.Path, schema, s.Name)
		var entry map[string]any
		if err == nil && json.Unmarshal(raw, &entry) == nil {
			have.named[s.Name] = entry
		}
	}
	return have
}

// compare says whether an entry is new, the same, or in conflict. The same are
// also two that mean the same: one with a secret, the other with its name.
func (h entries) compare(t translation) string {
	old, ok := h.named[t.name]
	if !ok {
		return "new"
	}
	raw, err := json.Marshal(t.entry)
	var entry map[string]any
	if err == nil && json.Unmarshal(raw, &entry) == nil && (reflect.DeepEqual(old, entry) || h.meansSame(t.name, old, entry)) {
		return "same"
	}
	return "conflict"
}

// meansSame reads two entries as our file would, with their variables.
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
		server.Vars = nil // how it is written is no difference
		return cfg
	}
	a, b := read(one), read(other)
	if a == nil || b == nil {
		return false
	}
	for _, d := range config.Diff(a, b) {
		if !d.Empty() {
			return false
		}
	}
	return true
}
