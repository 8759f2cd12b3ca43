package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/web/api"
)

const (
	// maxInline is the maximum size of a member that is sent with its parent.
	maxInline = 4 << 10
	maxItems  = 1000
)

// partBody is one value inside a body, with a page of its members or items.
// The cost of a page depends on what it shows, not on the size of the body.
type partBody struct {
	// Path is the requested JSON Pointer.
	Path string `json:"path"`
	// Kind is object, array, string, number, boolean or null.
	Kind string `json:"kind"`
	Size int    `json:"size"`
	// Count is the number of members or items of an object or array.
	Count  int        `json:"count,omitempty"`
	Offset int64      `json:"offset,omitempty"`
	Items  []partItem `json:"items,omitempty"`
	// Value is the value of any other kind, if it is not too large.
	Value json.RawMessage `json:"value,omitempty"`
	// Whole reports whether all of the body was kept.
	Whole bool `json:"whole"`
}

// partItem is a member of an object or an item of an array.
type partItem struct {
	Key   string `json:"key"`
	Kind  string `json:"kind"`
	Size  int    `json:"size"`
	Count int    `json:"count,omitempty"`
	// Value is absent if it is large; the client requests its path instead.
	Value json.RawMessage `json:"value,omitempty"`
}

// part answers with the value at parameter path in a JSON body.
func part(r *api.Request, body []byte, whole bool) (any, error) {
	path := r.URL.Query().Get("path")
	if !whole || !jsonrpc.Valid(body) {
		return nil, api.Refuse(http.StatusUnprocessableEntity, "cut", i18n.New("only the beginning of this body was kept; read it without path", "只保留了消息体的开头；请不带 path 读取"))
	}
	value, err := at(body, path)
	if err != nil {
		return nil, api.NotFound(i18n.Why(err))
	}
	out := partBody{Path: path, Kind: kindOf(value), Size: len(value), Whole: whole, Count: countOf(value)}
	if out.Kind != "object" && out.Kind != "array" {
		if len(value) <= maxSlice {
			out.Value = value
		}
		return out, nil
	}
	out.Offset = r.Number("offset", 0, int64(out.Count))
	limit, left := int(r.Number("limit", 200, maxItems)), maxSlice
	out.Items = []partItem{}
	n := 0
	for key, v := range inside(value) {
		if n++; int64(n) <= out.Offset {
			continue
		}
		if len(out.Items) >= limit {
			break
		}
		item := partItem{Key: key, Kind: kindOf(v), Size: len(v)}
		if len(v) <= maxInline && len(v) <= left {
			item.Value = v
			left -= len(v)
		} else {
			item.Count = countOf(v)
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

// at returns the value at a JSON Pointer (RFC 6901).
func at(value []byte, pointer string) ([]byte, error) {
	if pointer == "" {
		return trim(value), nil
	}
	if pointer[0] != '/' {
		return nil, i18n.Errorf("path %q is not a JSON Pointer: it must begin with /", "路径 %q 不是 JSON Pointer：必须以 / 开头", pointer)
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for step := range strings.SplitSeq(pointer[1:], "/") {
		key, found := unescape.Replace(step), false
		for k, v := range inside(value) {
			if k == key {
				value, found = v, true
				break
			}
		}
		if !found {
			return nil, i18n.Errorf("there is no %q on the path %s", "路径 %[2]s 上没有 %[1]q", key, pointer)
		}
	}
	return trim(value), nil
}

// inside iterates over the members of an object, or the items of an array by
// index.
func inside(value []byte) func(yield func(string, []byte) bool) {
	value = trim(value)
	if kindOf(value) == "array" {
		return func(yield func(string, []byte) bool) {
			n := 0
			for v := range jsonrpc.Elements(value) {
				if !yield(strconv.Itoa(n), v) {
					return
				}
				n++
			}
		}
	}
	if kindOf(value) == "object" {
		return jsonrpc.Members(value)
	}
	return func(func(string, []byte) bool) {}
}

func countOf(value []byte) int {
	n := 0
	for range inside(value) {
		n++
	}
	return n
}

func trim(value []byte) []byte { return bytes.TrimSpace(value) }

func kindOf(value []byte) string {
	switch value = trim(value); {
	case len(value) == 0:
		return "null"
	case value[0] == '{':
		return "object"
	case value[0] == '[':
		return "array"
	case value[0] == '"':
		return "string"
	case value[0] == 't' || value[0] == 'f':
		return "boolean"
	case value[0] == 'n':
		return "null"
	}
	return "number"
}
