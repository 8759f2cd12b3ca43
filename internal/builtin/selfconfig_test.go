package builtin

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
)

// maxSelfConfig is the maximum cost, in tokens, of the tools that manage the
// configuration, for every client that sees them.
const maxSelfConfig = 350

// TestSelfConfigCost checks the cost of the tools, and their arguments.
func TestSelfConfigCost(t *testing.T) {
	set := (&SelfConfig{}).Set()
	t.Run("true/14 cost", func(t *testing.T) {
		list := catalog.Merge([]catalog.Source{set.Source()}, catalog.Options{}).List(catalog.Tools, catalog.View{})
		if got := catalog.CostOf(list).Tokens; got > maxSelfConfig {
			t.Errorf("the tools cost %d tokens, want at most %d: %s", got, maxSelfConfig, list)
		}
	})
	t.Run("true/14 arguments", func(t *testing.T) {
		want := map[string]string{
			toolValidate: "", toolShow: "", toolSchema: "",
			toolSet:    "apply config-content*",
			toolAdd:    "apply args command cwd env headers name* schema type url",
			toolRemove: "apply name* schema",
		}
		got := map[string]string{}
		for _, tool := range set.Tools {
			if jsonrpc.Get(tool.Definition, "inputSchema", "properties") == nil {
				t.Errorf("the schema of %s has no properties: clients such as smolagents fail over it", tool.Name)
			}
			required := string(jsonrpc.Get(tool.Definition, "inputSchema", "required"))
			var names []string
			for name := range jsonrpc.Members(jsonrpc.Get(tool.Definition, "inputSchema", "properties")) {
				if strings.Contains(required, `"`+string(name)+`"`) {
					name += "*"
				}
				names = append(names, string(name))
			}
			slices.Sort(names)
			got[tool.Name] = strings.Join(names, " ")
		}
		if !maps.Equal(got, want) {
			t.Errorf("the tools take %v, want %v", got, want)
		}
	})
}
