package cli

import (
	"encoding/json"
	"fmt"
	"reflect"

	"mcp-all-in-one/internal/config"
)

// importSources lists the clients that have servers, and what they would add.
func (a *app) importSources() error {
	have := a.haveEntries(config.DefaultSchema)
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
		servers, err := a.readSource(c, place)
		if err != nil {
			row.Error = err.Error()
		}
		for _, s := range servers {
			t := a.translate(c, s)
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
		for _, place := range a.clientSources(&c, true) {
			add(&c, place)
		}
	}
	if a.asJSON {
		writeLine(a.Stdout, rows)
		return nil
	}
	t := &table{head: []string{a.t("CLIENT", "客户端"), a.t("SERVERS", "服务"), a.t("NEW", "新增"), a.t("SAME", "相同"), a.t("CONFLICTING", "冲突"), a.t("SCOPE", "范围"), a.t("FILE", "文件")}}
	for _, r := range rows {
		t.add(r.Client, fmt.Sprint(r.Servers), fmt.Sprint(r.New), fmt.Sprint(r.Same), fmt.Sprint(r.Conflict), r.Scope, r.File)
	}
	a.print(t)
	if len(rows) == 0 {
		fmt.Fprintln(a.Stderr, a.t("no client with a file was found", "没有找到客户端的配置文件"))
	}
	return nil
}

// entries are servers as a file has them, by name.
type entries map[string]map[string]any

// haveEntries are the servers of our own file.
func (a *app) haveEntries(schema string) entries {
	have := entries{}
	cfg, err := a.load(false)
	if err != nil || cfg.Schema(schema) == nil {
		return have
	}
	for _, s := range cfg.Schema(schema).Servers {
		raw, err := a.rawEntry(cfg.Path, schema, s.Name)
		var entry map[string]any
		if err == nil && json.Unmarshal(raw, &entry) == nil {
			have[s.Name] = entry
		}
	}
	return have
}

// compare says whether an entry is new, the same, or in conflict.
func (h entries) compare(t translation) string {
	old, ok := h[t.name]
	if !ok {
		return "new"
	}
	raw, err := json.Marshal(t.entry)
	var entry map[string]any
	if err == nil && json.Unmarshal(raw, &entry) == nil && reflect.DeepEqual(old, entry) {
		return "same"
	}
	return "conflict"
}
