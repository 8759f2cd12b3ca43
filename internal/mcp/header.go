package mcp

import (
	"encoding/base64"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
)

// ParamHeaderPrefix begins the names of headers that repeat arguments.
const ParamHeaderPrefix = "Mcp-Param-"

// HeaderText is an argument as a header repeats it. It is false for what is
// not repeated: absent, null, and anything but a string, number or boolean.
func HeaderText(arguments []byte, path ...string) (string, bool) {
	raw := jsonrpc.Get(arguments, path...)
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		return jsonrpc.GetString(arguments, path...)
	case '{', '[', 'n':
		return "", false
	}
	return string(raw), true
}

const (
	base64Open  = "=?base64?"
	base64Close = "?="
)

// DecodeHeader reads a header value in either of its forms.
func DecodeHeader(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, base64Open)
	if !ok {
		return value, true
	}
	inner, ok = strings.CutSuffix(inner, base64Close)
	if !ok {
		return "", false
	}
	raw, err := base64.StdEncoding.DecodeString(inner)
	return string(raw), err == nil
}
