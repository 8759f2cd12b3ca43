package catalog

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/spelling"
)

// A Row is one tool or prompt of a server, visible to clients or not.
type Row struct {
	Kind   string `json:"kind"` // tool or prompt
	Server string `json:"server"`
	// Own is the server's name for the item. Listed is the name that clients
	// see, empty while the item is switched off.
	Own    string `json:"own"`
	Listed string `json:"listed,omitempty"`
	// Title and Description are for display, with hidden characters made
	// visible.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// Effect is r for a read-only tool, d for a destructive one, w for the
	// rest; empty for prompts.
	Effect string `json:"effect,omitempty"`
	Cost   Cost   `json:"cost"`
	On     bool   `json:"on"`
	// Ask reports that each call waits until a person allows it. The caller of
	// Inventory sets it.
	Ask bool `json:"ask,omitempty"`
	// Issues lists problems that the user may want to fix.
	Issues []RowIssue `json:"issues,omitempty"`
}

// A RowIssue is one problem of a row.
type RowIssue struct {
	// Code is "same" if another server has the same name, "alike" if another
	// name looks the same, "shortened" if the listed name was cut or marked,
	// "hidden" if the text contains invisible characters.
	Code string `json:"code"`
	// With lists the other tools, written server/tool.
	With []string `json:"with,omitempty"`
}

// Inventory returns every tool and prompt of the given servers, in their order.
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

// Seen returns the rows that sees accepts. Their issues name only accepted
// rows.
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

// ref returns the name of the row in issues.
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

// issue returns the issue for one of the tools, naming the others.
func (l *Lookalike) issue(own string) RowIssue {
	issue := RowIssue{Code: "alike", With: slices.DeleteFunc(slices.Clone(l.Tools), func(t string) bool { return t == own })}
	if l.Same {
		issue.Code = "same"
	}
	return issue
}

// effectOf returns the declared effect of a tool. A tool without hints may
// write.
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

// Cost is the cost of a text for a model.
type Cost struct {
	Bytes int `json:"bytes"`
	// Tokens is an estimate: one token is four ASCII characters, one character
	// of a script without spaces, or two other characters.
	Tokens int `json:"tokens"`
}

// Plus adds two costs.
func (c Cost) Plus(d Cost) Cost { return Cost{c.Bytes + d.Bytes, c.Tokens + d.Tokens} }

// CostOf measures a text.
func CostOf(data []byte) Cost {
	quarters := 0
	for i := 0; i < len(data); {
		if rest := data[i:]; len(rest) >= 8 && binary.NativeEndian.Uint64(rest)&0x8080808080808080 == 0 {
			quarters += 8 // all ASCII, like most of a list
			i += 8
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		i += n
		switch {
		case r < 0x80:
			quarters++
		case spelling.IsDense(r):
			quarters += 4
		default:
			quarters += 2
		}
	}
	return Cost{Bytes: len(data), Tokens: (quarters + 3) / 4}
}

// Receipt is the cost of a client's tool list in each mode.
type Receipt struct {
	Full    Cost `json:"full"`
	Compact Cost `json:"compact"`
	Search  Cost `json:"search"`
	Code    Cost `json:"code"`
}
