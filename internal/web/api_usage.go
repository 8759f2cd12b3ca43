package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/usage"
	"mcp-all-in-one/internal/web/api"
)

// usagePages show what was called over days.
type usagePages struct {
	book    *usage.Book
	sight   *sight
	catalog Catalog
	named   func(principal string) string // nil knows no names
}

// A UsageReport is the usage of some days, for one principal.
type UsageReport struct {
	usage.Report
	// Names are what people call the principals of the rows.
	Names map[string]string `json:"names,omitempty"`
	// Unused are the tools that clients see and nobody called in these days; nil
	// for those who do not see what all called.
	Unused []UnusedTool `json:"unused,omitzero"`
}

// An UnusedTool is one that nobody called.
type UnusedTool struct {
	Schema string `json:"schema"`
	Server string `json:"server"`
	Name   string `json:"name"`
	// Tokens is what its definition costs in every conversation.
	Tokens int `json:"tokens"`
}

func (p *usagePages) get(w http.ResponseWriter, r *api.Request) {
	q := r.URL.Query()
	query := usage.Query{
		Days: 7, By: usage.By(cmp.Or(q.Get("by"), string(usage.ByTool))),
		Server: only(q, "server"), Name: only(q, "tool"), Client: only(q, "client"), Principal: only(q, "key"),
		Sees: func(k *usage.Key) bool { return p.sight.counted(r.Who, k) },
	}
	if text := q.Get("days"); text != "" {
		query.Days, _ = strconv.Atoi(text) // what is no number is none of those allowed
	}
	if err := query.Check(); err != nil {
		api.Fail(w, r.Request, http.StatusBadRequest, "bad_request", i18n.Why(err))
		return
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
	api.Reply(w, http.StatusOK, report)
}

// only is a parameter that leaves others out; nil where it is not there. One that
// is empty asks for what has none.
func only(q url.Values, name string) *string {
	if !q.Has(name) {
		return nil
	}
	text := q.Get(name)
	return &text
}

// counted says whether a principal is shown figures: its own, and those of others
// that it may look at, of what it sees. What others did at no server, lists for
// example, is about all that they see.
func (s *sight) counted(who access.Principal, k *usage.Key) bool {
	if k.Server == "" && !who.Unbound() {
		return k.Principal == who.ID
	}
	tool := ""
	if k.Kind == usage.Tool {
		tool = k.Name
	}
	return who.MayLookAt(k.Principal) && (who.Unbound() || who.MaySee(k.Schema, k.Server, tool))
}

// unused are the tools that a principal sees in the catalogue and that a report
// does not have.
func (p *usagePages) unused(who access.Principal, report *usage.Report) []UnusedTool {
	list := []UnusedTool{}
	for _, schema := range p.schemas(who) {
		page, err := p.catalog.Look(who, schema, "")
		if err != nil {
			continue // it has gone meanwhile
		}
		for _, row := range page.Rows {
			if row.Kind == "tool" && row.On && report.Unused(schema, row.Server, row.Own) {
				list = append(list, UnusedTool{schema, row.Server, row.Own, row.Cost.Tokens})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b UnusedTool) int { return b.Tokens - a.Tokens })
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
