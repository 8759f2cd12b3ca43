package catalog

import (
	"slices"
	"sort"

	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/i18n"
)

// A Lookalike is a group of tools that people or models may confuse.
type Lookalike struct {
	// Tools lists the tools as server/tool, with hidden characters made
	// visible.
	Tools []string `json:"tools"`
	// Same reports that the names are equal; otherwise they only look equal.
	Same bool `json:"same"`
}

// Lookalikes finds tools of different servers that have the same name, and
// tools anywhere whose different names look the same.
func Lookalikes(sources []Source) []Lookalike {
	type tool struct{ server, name string }
	groups := make(map[string][]tool)
	for i := range sources {
		for _, item := range sources[i].Features.items(Tools) {
			key := definition.Skeleton(item.Key)
			groups[key] = append(groups[key], tool{sources[i].Server, item.Key})
		}
	}
	var list []Lookalike
	for _, group := range groups {
		if len(group) < 2 {
			continue
		}
		found := Lookalike{Same: true}
		for _, t := range group {
			found.Tools = append(found.Tools, i18n.Reveal(t.server+"/"+t.name))
			found.Same = found.Same && t.name == group[0].name
		}
		slices.Sort(found.Tools)
		list = append(list, found)
	}
	sort.Slice(list, func(i, j int) bool { return slices.Compare(list[i].Tools, list[j].Tools) < 0 })
	return list
}
