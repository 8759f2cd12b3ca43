package builtin

import (
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
)

// Compact is the set that stands for all tools of a schema in the compact
// modes; nil when the schema shows its tools themselves.
func Compact(all *catalog.Catalog, schema *config.Schema, cfg *config.Config) *Set {
	return nil
}
