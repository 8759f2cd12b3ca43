package catalog

import (
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/jsonrpc"
)

// TestFitNames finds every tool by the name that each kind of client sees.
func TestFitNames(t *testing.T) {
	var items []string
	for i := range 40 {
		items = append(items, fmt.Sprintf(`{"name":"%s_%d","inputSchema":{"type":"object"}}`, strings.Repeat("long", 13), i))
	}
	tools, _ := ParseTools([][]byte{[]byte(`{"tools":[` + strings.Join(items, ",") + `]}`)})
	for _, naming := range []Naming{NamingPrefix, NamingNone} {
		c := Merge([]Source{{Server: "a", Features: &Features{Tools: tools}, Policy: Policy{Naming: naming}},
			{Server: "b", Features: &Features{Tools: tools}}}, Options{})
		for i := range fit.Dialects {
			t.Run(fmt.Sprintf("%s names %v", fit.Dialects[i].Name, naming), func(t *testing.T) {
				seen := map[Ref]string{}
				for raw := range jsonrpc.Elements(jsonrpc.Get(c.List(Tools, View{Fit: &fit.Dialects[i]}), "tools")) {
					name, _ := jsonrpc.GetString(raw, "name")
					ref, miss := c.ToolFitting(&fit.Dialects[i], name, nil)
					if miss != nil || fit.Dialects[i].Shortens(name) {
						t.Fatalf("%s (%d characters): %v", name, len(name), miss)
					}
					ref.Item = nil
					if other, twice := seen[ref]; twice {
						t.Errorf("%s and %s lead to %v", name, other, ref)
					}
					seen[ref] = name
					if whole, miss := c.ToolFor(ref.Listed, nil); miss != nil || whole.Name != ref.Name {
						t.Errorf("the whole name %s leads to %v", ref.Listed, whole)
					}
				}
				if len(seen) != 80 {
					t.Errorf("%d tools", len(seen))
				}
			})
		}
	}
}
