package signature

import (
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/spelling"
)

// remarks maps the keywords that a comment can express to their wording.
var remarks = map[string]string{
	"description": "", "default": "default ", "format": "format ", "pattern": "pattern ",
	"minimum": ">= ", "maximum": "<= ", "exclusiveMinimum": "> ", "exclusiveMaximum": "< ",
	"multipleOf": "multiple of ", "minLength": "length >= ", "maxLength": "length <= ",
	"minItems": "items >= ", "maxItems": "items <= ", "minProperties": "members >= ",
	"maxProperties": "members <= ", "examples": "e.g. ",
	"contentMediaType": "media type ", "contentEncoding": "encoded as ",
}

// silent lists the keywords that do not affect the arguments.
var silent = set("$schema", "$id", "$comment", "$anchor", "x-mcp-header")

// remark returns the comment for a keyword; known is false if a comment cannot
// express it.
func remark(keyword string, value []byte, member string) (said string, known bool) {
	if how, ok := remarks[keyword]; ok {
		if value[0] == '"' && keyword != "default" {
			return how + textOf(value), true
		}
		return how + string(value), true
	}
	switch keyword {
	case "title":
		if title := textOf(value); !sameWords(title, member) {
			return title, true
		}
		return "", true
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		if value[0] == 't' {
			return strings.TrimSuffix(keyword, "Items"), true
		}
		return "", true
	}
	return "", silent[keyword]
}

// sameWords reports whether a title is only the member's name in other letters.
func sameWords(title, member string) bool {
	return member != "" && spelling.Joined(title) == spelling.Joined(member)
}

// Short returns a tool as one line of a listing:
//
//	search_issues(query:str, sort?:enum, per_page?:int)
func Short(name string, schema []byte) string {
	required := make(map[string]bool)
	for r := range jsonrpc.Elements(jsonrpc.Get(schema, "required")) {
		required[textOf(r)] = true
	}
	var args []string
	for arg, sub := range jsonrpc.Members(jsonrpc.Get(schema, "properties")) {
		mark := "?:"
		if required[arg] {
			mark = ":"
		}
		args = append(args, arg+mark+shortType(schema, sub, 0))
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

const maxShortDepth = 4

var shortNames = map[string]string{
	"string": "str", "integer": "int", "number": "num", "boolean": "bool", "object": "obj", "null": "null",
}

// shortType returns the type of a schema within root as one word.
func shortType(root, schema []byte, depth int) string {
	if ref, ok := jsonrpc.GetString(schema, "$ref"); ok && depth < maxShortDepth {
		return shortType(root, definition(root, ref), depth+1)
	}
	if jsonrpc.Get(schema, "enum") != nil || jsonrpc.Get(schema, "const") != nil {
		return "enum"
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		if forms := jsonrpc.Get(schema, keyword); forms != nil && depth < maxShortDepth {
			var all []string
			for sub := range jsonrpc.Elements(forms) {
				all = append(all, shortType(root, sub, depth+1))
			}
			return strings.ReplaceAll(union(all), " ", "")
		}
	}
	kinds := jsonrpc.Get(schema, "type")
	if len(kinds) > 0 && kinds[0] == '[' {
		var all []string
		for kind := range jsonrpc.Elements(kinds) {
			all = append(all, shortKind(root, schema, textOf(kind), depth))
		}
		return strings.ReplaceAll(union(all), " ", "")
	}
	return shortKind(root, schema, textOf(kinds), depth)
}

func shortKind(root, schema []byte, kind string, depth int) string {
	if kind == "array" {
		items := jsonrpc.Get(schema, "items")
		if items == nil || depth >= maxShortDepth {
			return "list"
		}
		return shortType(root, items, depth+1) + "[]"
	}
	if short := shortNames[kind]; short != "" {
		return short
	}
	return "any"
}

// textOf returns the text of a raw JSON string, "" for anything else.
func textOf(raw []byte) string {
	s, _ := jsonrpc.Text(raw)
	return s
}
