package view

import (
	"sync"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
)

// Costs are the costs of the tool list in each mode. Each is computed at its
// first use.
type Costs struct {
	full, compact, search, code func() catalog.Cost
	// Tools is the number of tools. Named is set if compact mode names them all.
	Tools func() int
	Named func() bool
}

// All returns the costs in every mode.
func (c Costs) All() catalog.Receipt {
	return catalog.Receipt{Full: c.full(), Compact: c.compact(), Search: c.search(), Code: c.code()}
}

// In returns the cost of the list in a mode.
func (c Costs) In(mode string) catalog.Cost {
	switch mode {
	case builtin.ModeCompact:
		return c.compact()
	case builtin.ModeSearch:
		return c.search()
	case builtin.ModeCode:
		return c.code()
	}
	return c.full()
}

// CostOf returns the cost of a list of the gateway's own tools.
func CostOf(set *builtin.Set) catalog.Cost {
	return catalog.CostOf(catalog.Merge([]catalog.Source{set.Source()}, catalog.Options{}).List(catalog.Tools, catalog.View{}))
}

// Measure prepares the costs of a view. full is the catalogue in full mode, all
// the catalogue behind the compact modes, and small returns the tools of a
// compact mode.
func Measure(full, all *catalog.Catalog, eyes catalog.View, small func(mode string) *builtin.Set) Costs {
	cost := func(mode string) func() catalog.Cost {
		return sync.OnceValue(func() catalog.Cost { return CostOf(small(mode)) })
	}
	return Costs{
		full:    sync.OnceValue(func() catalog.Cost { return catalog.CostOf(full.List(catalog.Tools, eyes)) }),
		compact: cost(builtin.ModeCompact), search: cost(builtin.ModeSearch), code: cost(builtin.ModeCode),
		Tools: sync.OnceValue(func() int { return full.Count(catalog.Tools, eyes) }),
		Named: sync.OnceValue(func() bool { return builtin.NamesAll(all, eyes) }),
	}
}
