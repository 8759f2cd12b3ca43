package modern

import (
	"bytes"

	"mcp-all-in-one/internal/gateway/params"
	"mcp-all-in-one/internal/gateway/refusal"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// A Meta is the information about the client in a request's _meta.
type Meta struct {
	Version  string
	Offer    mcp.Offer
	Info     []byte // raw Implementation
	LogLevel string // empty for no log messages
}

// ReadMeta reads the Meta from the params of a request.
func ReadMeta(raw []byte) (m Meta, err error) {
	version, ok := jsonrpc.GetString(raw, "_meta", mcp.MetaVersion)
	if !ok {
		return m, jsonrpc.InvalidParams("_meta[%q] must be a string", mcp.MetaVersion)
	}
	if v, known := mcp.Lookup(version); !known || v.Era != mcp.Modern {
		return m, mcp.UnsupportedVersion(refusal.Clip(version))
	}
	caps := jsonrpc.Get(raw, "_meta", mcp.MetaCapabilities)
	if len(caps) == 0 || caps[0] != '{' {
		return m, jsonrpc.InvalidParams("_meta[%q] must be an object", mcp.MetaCapabilities)
	}
	if err := params.CheckMeta(raw); err != nil {
		return m, err
	}
	level := ""
	if given, ok := jsonrpc.GetString(raw, "_meta", mcp.MetaLogLevel); ok {
		if level, ok = mcp.ParseLevel(given); !ok {
			return m, jsonrpc.InvalidParams("_meta[%q] must be one of %v", mcp.MetaLogLevel, mcp.Levels())
		}
	}
	return Meta{version, mcp.ParseOffer(caps), bytes.Clone(jsonrpc.Get(raw, "_meta", mcp.MetaClientInfo)), level}, nil
}
