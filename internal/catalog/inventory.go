package catalog

import (
	"slices"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// A Row is one tool or prompt of a server, whether clients see it or not.
type Row struct {
	Kind   string `json:"kind"` // tool or prompt
	Server string `json:"server"`
	// Own is the server's own name for it; Listed is the one that clients see,
	// empty while it is switched off.
	Own    string `json:"own"`
	Listed string `json:"listed,omitempty"`
	// Title and Description are for people, with hidden characters shown.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Effect is r for what only reads, d for what may destroy, w for the rest;
	// empty for prompts.
	Effect string `json:"effect,omitempty"`
	Cost   Cost   `json:"cost"`
	On     bool   `json:"on"`
	// Issues are what a person may want to change.
	Issues []RowIssue `json:"issues,omitempty"`
}

// A RowIssue is one thing that is odd about a row.
type RowIssue struct {
	// Code is same for a name that another server has too, alike for one that
	// looks like another, shortened for a listed name that had to be cut or
	// marked, hidden for text with characters that do not show.
	Code string `json:"code"`
	// With are the others, written server/tool.
	With []string `json:"with,omitempty"`
}

// Inventory is every tool and prompt of the given servers, in their order.
func Inventory(sources []Source) []Row {
	c := Merge(sources, Options{})
	twins := make(map[string]Lookalike)
	for _, l := range Lookalikes(sources) {
		for _, tool := range l.Tools {
			twins[tool] = l
		}
	}
	rows := []Row{}
	for i := range sources {
		for _, k := range []Kind{Tools, Prompts} {
			items := sources[i].Features.items(k)
			for j := range items {
				rows = append(rows, c.row(k, int32(i), &items[j], twins))
			}
		}
	}
	return rows
}

// Seen are the rows that sees lets pass. Issues name no row that it does not.
func Seen(rows []Row, sees func(*Row) bool) []Row {
	seen, shown := make(map[string]bool, len(rows)), []Row{}
	for i := range rows {
		if sees(&rows[i]) {
			seen[rows[i].ref()] = true
			shown = append(shown, rows[i])
		}
	}
	for i := range shown {
		r := &shown[i]
		var issues []RowIssue
		for _, issue := range r.Issues {
			with := slices.DeleteFunc(slices.Clone(issue.With), func(other string) bool { return !seen[other] })
			if len(issue.With) > 0 && len(with) == 0 {
				continue
			}
			issues = append(issues, RowIssue{issue.Code, with})
		}
		r.Issues = issues
	}
	return shown
}

// ref is how an issue names the row.
func (r *Row) ref() string { return i18n.Reveal(r.Server + "/" + r.Own) }

func (c *Catalog) row(k Kind, source int32, item *Item, twins map[string]Lookalike) Row {
	r := Row{
		Kind: "prompt", Server: c.sources[source].Server, Own: item.Key, Cost: CostOf(item.Raw),
		Title: i18n.Reveal(item.Title), Description: i18n.Reveal(item.Description),
	}
	if k == Tools {
		r.Kind, r.Effect = "tool", effectOf(item)
		if l, found := twins[r.ref()]; found {
			r.Issues = append(r.Issues, l.issue(r.ref()))
		}
	}
	if r.Title != item.Title || r.Description != item.Description || i18n.Reveal(item.Key) != item.Key {
		r.Issues = append(r.Issues, RowIssue{Code: "hidden"})
	}
	e := c.table(k).own[ownKey{source, item.Key}]
	if e == nil || e.item != item {
		return r
	}
	r.On, r.Listed = true, e.listed
	if plain := c.labels[source] + separator + e.name; !c.unprefixed(e) && e.listed != plain {
		r.Issues = append(r.Issues, RowIssue{Code: "shortened"})
	}
	return r
}

// issue says what else there is beside one of the tools.
func (l *Lookalike) issue(own string) RowIssue {
	issue := RowIssue{Code: "alike", With: slices.DeleteFunc(slices.Clone(l.Tools), func(t string) bool { return t == own })}
	if l.Same {
		issue.Code = "same"
	}
	return issue
}

// effectOf is what a tool says it does. One that says nothing may do anything.
func effectOf(item *Item) string {
	hint := func(name string) string { return string(jsonrpc.Get(item.Annotations, name)) }
	switch {
	case hint("readOnlyHint") == "true":
		return "r"
	case hint("destructiveHint") == "true":
		return "d"
	}
	return "w"
}
