package config

import (
	"reflect"

	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/i18n"
)

// retired are keys that earlier versions read, by their struct, with the reason
// why they have no effect any more. A file with such a key still loads.
var retired = map[reflect.Type]map[string]i18n.Text{
	reflect.TypeFor[Config](): {"exec": layout.PassedOn},
	reflect.TypeFor[Schema](): {"exec": layout.PassedOn},
	reflect.TypeFor[Compact](): {
		"names":             i18n.New("the tools of compact mode are always inspect and exec", "紧凑模式的工具始终是 inspect 和 exec"),
		"structuredContent": layout.PassedOn, "toon": layout.PassedOn, "toonMinSize": layout.PassedOn,
	},
}
