// Package view builds what sessions see: the merged features of their servers in
// a mode, and their cost. It also chooses the cheapest mode.
package view

import (
	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/mcp"
)

// A View is what one session sees at one revision of the upstreams.
type View struct {
	Revision uint64
	Shown    *catalog.Catalog // features that are listed and can be called by name
	All      *catalog.Catalog // all features of the servers
	Compact  *builtin.Set     // stands for all tools; nil outside the compact modes
	Mode     string           // full, compact or search
	Choice   Choice           // of a schema in auto mode
	Cost     Costs
}

var changeMethods = []struct {
	method string
	kinds  []catalog.Kind
}{
	{mcp.NotificationTools, []catalog.Kind{catalog.Tools}},
	{mcp.NotificationPrompts, []catalog.Kind{catalog.Prompts}},
	{mcp.NotificationResources, []catalog.Kind{catalog.Resources, catalog.Templates}},
}

// Changed returns the notifications for the differences between two views.
func Changed(was, now *View, eyes func(catalog.Kind) catalog.View) []string {
	if was.Shown == now.Shown {
		return nil
	}
	var methods []string
	for _, m := range changeMethods {
		for _, kind := range m.kinds {
			if !catalog.Equal(was.Shown, now.Shown, kind, eyes(kind)) {
				methods = append(methods, m.method)
				break
			}
		}
	}
	return methods
}
