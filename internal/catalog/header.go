package catalog

import (
	"bytes"
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// HeaderParam is an argument of a tool that HTTP clients repeat in a header.
type HeaderParam struct {
	// Path is the path of the argument through nested objects.
	Path []string
	// Header is the part of the header name after Mcp-Param-.
	Header string
}

const headerKey = "x-mcp-header"

// HeaderParams returns the arguments of a tool that are repeated in headers;
// none if the annotations are invalid.
func HeaderParams(it *Item) []HeaderParam {
	params, err := readHeaders(it)
	if err != nil {
		return nil
	}
	return params
}

// InvalidHeaders returns the error in a tool's header annotations. Over HTTP
// such a tool must not be used.
func InvalidHeaders(it *Item) error {
	_, err := readHeaders(it)
	return err
}

// DropInvalidHeaders removes the tools with invalid header annotations, as the
// specification requires of clients of an HTTP server.
func DropInvalidHeaders(tools []Item) ([]Item, []Issue) {
	var issues []Issue
	kept := slices.Clone(tools)
	kept = slices.DeleteFunc(kept, func(it Item) bool {
		err := InvalidHeaders(&it)
		if err != nil {
			issues = append(issues, Issue{Item: it.Key, Detail: i18n.Why(err), Withheld: true})
		}
		return err != nil
	})
	return kept, issues
}

func readHeaders(it *Item) ([]HeaderParam, error) {
	if !bytes.Contains(it.InputSchema, []byte(headerKey)) {
		return nil, nil
	}
	var params []HeaderParam
	if err := collectHeaders(it.InputSchema, nil, &params); err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(params))
	for _, p := range params {
		name := strings.ToLower(p.Header)
		if seen[name] {
			return nil, i18n.Errorf("%s %q stands twice", "%s %q 出现了两次", headerKey, p.Header)
		}
		seen[name] = true
	}
	return params, nil
}

// collectHeaders collects the annotations that are reachable through
// properties. An annotation elsewhere in the schema is an error: its argument
// cannot be found.
func collectHeaders(schema []byte, path []string, params *[]HeaderParam) error {
	for name, value := range jsonrpc.Members(schema) {
		if name == "properties" && value[0] == '{' {
			for arg, sub := range jsonrpc.Members(value) {
				if err := collectHeaders(sub, append(slices.Clip(path), arg), params); err != nil {
					return err
				}
			}
			continue
		}
		if name == headerKey {
			if err := addHeader(schema, value, path, params); err != nil {
				return err
			}
			continue
		}
		out := eachObject(value, func(obj []byte) bool { return jsonrpc.Get(obj, headerKey) == nil })
		if !out && name != "default" && name != "examples" && name != "const" && name != "enum" {
			return i18n.Errorf("%s under %s of %q leads to no argument", "%[3]q 的 %[2]s 下的 %[1]s 不对应任何参数", headerKey, name, strings.Join(path, "."))
		}
	}
	return nil
}

func addHeader(schema, value []byte, path []string, params *[]HeaderParam) error {
	arg := strings.Join(path, ".")
	if len(path) == 0 {
		return i18n.Errorf("%s stands outside any argument", "%s 不在任何参数之中", headerKey)
	}
	header, ok := jsonrpc.GetString(value)
	if !ok || header == "" || strings.IndexFunc(header, notToken) >= 0 {
		return i18n.Errorf("%s of %q is not a header name", "%[2]q 的 %[1]s 不是请求头名称", headerKey, arg)
	}
	switch kind, _ := jsonrpc.GetString(schema, "type"); kind {
	case "string", "integer", "boolean":
		*params = append(*params, HeaderParam{Path: path, Header: header})
		return nil
	}
	return i18n.Errorf("%s of %q: only a string, an integer or a boolean can be a header", "%[2]q 的 %[1]s：只有字符串、整数或布尔值可以作为请求头", headerKey, arg)
}

// notToken reports whether a character is not allowed in a header name.
func notToken(r rune) bool {
	return r >= 0x80 || !isNameByte(byte(r)) && !strings.ContainsRune("!#$%&'*+.^`|~", r)
}

// eachObject visits every object inside a JSON value until visit returns false.
func eachObject(value []byte, visit func(obj []byte) bool) bool {
	if len(value) == 0 {
		return true
	}
	switch value[0] {
	case '{':
		if !visit(value) {
			return false
		}
		for _, v := range jsonrpc.Members(value) {
			if !eachObject(v, visit) {
				return false
			}
		}
	case '[':
		for v := range jsonrpc.Elements(value) {
			if !eachObject(v, visit) {
				return false
			}
		}
	}
	return true
}
