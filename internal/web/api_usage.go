package web

import (
	"cmp"
	"net/url"
	"sort"
	"strconv"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/usage"
	"mcp-all-in-one/internal/web/api"
)

// usagePages serves usage counts over days.
type usagePages struct {
	book    *usage.Book
	catalog Catalog
	named   func(principal string) string // nil: no display names
}

// A UsageReport is the usage over a number of days, as one principal sees it.
type UsageReport struct {
	usage.Report
	// Names maps the principals in the rows to display names.
	Names map[string]string `json:"names,omitempty"`
	// Unused lists the tools that clients see and that were not called in these
	// days. It is nil for a principal that may not see the calls of all others.
	Unused []UnusedTool `json:"unused,omitzero"`
}

// An UnusedTool is a tool without calls.
type UnusedTool struct {
	Schema string `json:"schema"`
	Server string `json:"server"`
	Name   string `json:"name"`
	// Tokens is the cost of the tool's definition in every conversation.
	Tokens int `json:"tokens"`
}

func (p *usagePages) get(r *api.Request) (any, error) {
	q := r.URL.Query()
	query := usage.Query{
		Days: 7, By: usage.By(cmp.Or(q.Get("by"), string(usage.ByTool))),
		Server: only(q, "server"), Name: only(q, "tool"), Client: only(q, "client"), Principal: only(q, "key"),
		Sees: func(k *usage.Key) bool { return counted(r.Who, k) },
	}
	if text := q.Get("days"); text != "" {
		query.Days, _ = strconv.Atoi(text) // text that is not a number becomes 0, which is not an allowed value
	}
	if err := query.Check(); err != nil {
		return nil, api.BadRequest(i18n.Why(err))
	}
	report := UsageReport{Report: p.book.Report(query)}
	for i := range report.Rows {
		id := report.Rows[i].Principal
		if p.named == nil || id == "" {
			continue
		}
		if name := p.named(id); name != "" {
			if report.Names == nil {
				report.Names = make(map[string]string)
			}
			report.Names[id] = name
		}
	}
	if report.On && r.Who.MayLookAt(usage.Other) {
		report.Unused = p.unused(r.Who, &report.Report)
	}
	return report, nil
}

// only returns a parameter that restricts the rows; nil if it is absent. An empty
// parameter selects rows where the field is empty.
func only(q url.Values, name string) *string {
	if !q.Has(name) {
		return nil
	}
	text := q.Get(name)
	return &text
}

// counted reports whether a principal may see the figures of k.
func counted(who access.Principal, k *usage.Key) bool {
	tool := ""
	if k.Kind == usage.Tool {
		tool = k.Name
	}
	return who.MayCount(k.Principal, k.Schema, k.Server, tool)
}

// unused returns the tools that the principal sees in the catalogue and that
// the report does not contain.
func (p *usagePages) unused(who access.Principal, report *usage.Report) []UnusedTool {
	list := []UnusedTool{}
	for _, schema := range p.schemas(who) {
		page, err := p.catalog.Look(who, schema, "")
		if err != nil {
			continue // the schema was removed meanwhile
		}
		for _, row := range page.Rows {
			if row.Kind == "tool" && row.On && report.Unused(schema, row.Server, row.Own) {
				list = append(list, UnusedTool{schema, row.Server, row.Own, row.Cost.Tokens})
			}
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Tokens > list[j].Tokens })
	return list
}

func (p *usagePages) schemas(who access.Principal) []string {
	if p.catalog == nil {
		return nil
	}
	page, err := p.catalog.Look(who, "", "")
	if err != nil {
		return nil
	}
	return page.Schemas
}
