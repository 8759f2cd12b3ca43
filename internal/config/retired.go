package config

import (
	"reflect"

	"mcp-all-in-one/internal/i18n"
)

// retired are keys that earlier versions read, by the struct that had them, and
// why they have no effect any more. A file that has one still loads.
var retired = map[reflect.Type]map[string]i18n.Text{
	reflect.TypeFor[Config](): {"exec": passedOn},
	reflect.TypeFor[Schema](): {"exec": passedOn},
	reflect.TypeFor[Compact](): {
		"names":             i18n.New("the tools of compact mode are always inspect and exec", "紧凑模式的工具始终是 inspect 和 exec"),
		"structuredContent": passedOn, "toon": passedOn, "toonMinSize": passedOn,
	},
}

var passedOn = i18n.New("exec passes on the result of the tool unchanged", "exec 原样返回工具的结果")
