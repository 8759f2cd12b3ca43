package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInventory(t *testing.T) {
	long := strings.Repeat("x", 70)
	tools := func(defs ...string) *Features {
		items, _ := ParseTools([][]byte{[]byte(`{"tools":[` + strings.Join(defs, ",") + `]}`)})
		return &Features{Tools: items}
	}
	tool := func(name, more string) string {
		return `{"name":"` + name + `","inputSchema":{"type":"object"}` + more + `}`
	}
	off := false
	rows := Inventory([]Source{
		{Server: "a", Features: tools(tool("query", `,"annotations":{"readOnlyHint":true}`), tool("drop", `,"annotations":{"destructiveHint":true}`), tool(long, ``)),
			Policy: Policy{Tools: Rules{Items: map[string]Override{"drop": {Enabled: &off}}}}},
		{Server: "b", Features: tools(tool("query", ``), tool("tell", `,"description":"Tells\u200b all."`))},
		{Server: "down"},
	})
	type seen struct{ Server, Own, Listed, Effect, Issues string }
	var got []seen
	for _, r := range rows {
		issues := ""
		for _, i := range r.Issues {
			issues += i.Code + " " + strings.Join(i.With, " ")
		}
		if r.On != (r.Listed != "") || r.Cost.Tokens == 0 {
			t.Errorf("row %+v", r)
		}
		got = append(got, seen{r.Server, r.Own, r.Listed, r.Effect, strings.TrimSpace(issues)})
	}
	want := []seen{
		{"a", "query", "a__query", "r", "same b/query"},
		{"a", "drop", "", "d", ""},
		{"a", long, got[2].Listed, "w", "shortened"},
		{"b", "query", "b__query", "w", "same a/query"},
		{"b", "tell", "b__tell", "w", "hidden"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if got[2].Listed == "" || len(got[2].Listed) > maxName {
		t.Errorf("listed as %q", got[2].Listed)
	}
	if rows[4].Description != "Tells⟨U+200B⟩ all." {
		t.Errorf("description %q hides something", rows[4].Description)
	}
}
