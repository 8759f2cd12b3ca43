package view

import (
	"sync"

	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
)

// Costs are what a list of the tools costs in each mode, each worked out when
// it is first asked for.
type Costs struct {
	full, compact, search, code func() catalog.Cost
	// Tools is how many there are. Named says that compact mode names them all.
	Tools func() int
	Named func() bool
}

// All are the costs in every mode.
func (c Costs) All() catalog.Receipt {
	return catalog.Receipt{Full: c.full(), Compact: c.compact(), Search: c.search(), Code: c.code()}
}

// In is what one list costs in a mode.
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

// CostOf is what a list of our own tools costs.
func CostOf(set *builtin.Set) catalog.Cost {
	return catalog.CostOf(catalog.Merge([]catalog.Source{set.Source()}, catalog.Options{}).List(catalog.Tools, catalog.View{}))
}

// Measure prepares the costs of a view: full is what full mode shows, all what
// the compact modes stand for, and small returns the tools that stand for them.
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
