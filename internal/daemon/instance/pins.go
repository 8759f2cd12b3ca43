package instance

import (
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/upstream/pin"
)

// OpenPins returns the store of the pinned definitions of servers.
func OpenPins(docs record.Documents) *pin.Store { return pin.Open(pinDir(), docs) }

func pinDir() string { return filepath.Join(folders.StateDir(), "pins") }

func memoryPath() string { return filepath.Join(folders.StateDir(), "servers.json") }

// Lookalikes returns the tools of a schema that may be mistaken for one
// another. If server is set, it returns only those of that server.
func (in *Instance) Lookalikes(schema, server string) []catalog.Lookalike {
	view := in.Set.Snapshot().Schema(schema)
	if view == nil {
		return nil
	}
	var sources []catalog.Source
	for _, u := range view.Upstreams {
		sources = append(sources, catalog.Source{Server: u.Name(), Features: u.Features(nil)})
	}
	list := catalog.Lookalikes(sources)
	if server == "" {
		return list
	}
	return slices.DeleteFunc(list, func(l catalog.Lookalike) bool {
		return !slices.ContainsFunc(l.Tools, func(t string) bool { return strings.HasPrefix(t, i18n.Reveal(server)+"/") })
	})
}

// maxLookalikes bounds the log lines about servers with endless names.
const maxLookalikes = 1000

// warnLookalikes logs, once each, names that look the same but differ: they are
// made to deceive. Equal names are distinguished by their servers.
func (in *Instance) warnLookalikes() func() {
	told := make(map[string]bool)
	return func() {
		for _, view := range in.Set.Snapshot().Schemas {
			for _, l := range in.Lookalikes(view.Config.Name, "") {
				if key := strings.Join(l.Tools, " "); !l.Same && !told[key] && len(told) < maxLookalikes {
					told[key] = true
					in.Log.Warn("tools look alike", "schema", view.Config.Name, "tools", l.Tools)
				}
			}
		}
	}
}
