package mcphttp

import (
	"net/http"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// serveModern answers one message of the modern era.
func (p *post) serveModern(m *jsonrpc.Message) {
	p.modern = true
	var err *jsonrpc.Error
	switch m.Kind {
	case jsonrpc.KindRequest:
		err = checkModern(p.r.Header, m, p.version)
	case jsonrpc.KindNotification:
		if err = checkVersion(p.version); err == nil {
			err = mirrored(p.r.Header, mcp.HeaderMethod, m.Method, false)
		}
	default:
		err = jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a client of this protocol version must not send answers")
	}
	if err != nil {
		p.fail(http.StatusBadRequest, m.ID, err)
		return
	}
	if m.Kind == jsonrpc.KindRequest && p.continued(m) {
		return
	}
	p.serveAlone(m, TransportModern)
}

// checkModern checks the _meta of a request, and its HTTP header with the version
// inHeader.
func checkModern(h http.Header, m *jsonrpc.Message, inHeader string) *jsonrpc.Error {
	meta := jsonrpc.Get(m.Params, "_meta")
	said := jsonrpc.Get(meta, mcp.MetaVersion)
	if said == nil {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "missing _meta[%q]", mcp.MetaVersion)
	}
	version, ok := jsonrpc.GetString(meta, mcp.MetaVersion)
	if !ok {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "_meta[%q] must be a string", mcp.MetaVersion)
	}
	switch inHeader {
	case version:
	case "":
		return jsonrpc.Errorf(mcp.CodeHeaderMismatch, "missing header MCP-Protocol-Version")
	default:
		return jsonrpc.Errorf(mcp.CodeHeaderMismatch, "header MCP-Protocol-Version is not _meta[%q]", mcp.MetaVersion)
	}
	if err := checkVersion(version); err != nil {
		return err
	}
	if caps := jsonrpc.Get(meta, mcp.MetaCapabilities); caps == nil || caps[0] != '{' {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "_meta[%q] must be an object", mcp.MetaCapabilities)
	}
	if err := mirrored(h, mcp.HeaderMethod, m.Method, true); err != nil {
		return err
	}
	if member := mcp.NameMember(m.Method); member != "" {
		name, given := jsonrpc.GetString(m.Params, member)
		return mirrored(h, mcp.HeaderName, name, given)
	}
	return nil
}

// checkVersion refuses all but the supported modern versions.
func checkVersion(version string) *jsonrpc.Error {
	if v, ok := mcp.Lookup(version); ok && v.Era == mcp.Modern {
		return nil
	}
	return mcp.UnsupportedVersion(version)
}

// mirrored compares a header with the value in the body that it must repeat.
func mirrored(h http.Header, name, value string, required bool) *jsonrpc.Error {
	lines := h[name]
	switch {
	case len(lines) == 0 && !required:
		return nil
	case len(lines) == 0:
		return jsonrpc.Errorf(mcp.CodeHeaderMismatch, "missing header %s", name)
	case len(lines) > 1:
		return jsonrpc.Errorf(mcp.CodeHeaderMismatch, "more than one header %s", name)
	}
	said, ok := mcp.DecodeHeader(lines[0])
	if !ok {
		return jsonrpc.Errorf(mcp.CodeHeaderMismatch, "header %s is not encoded correctly", name)
	}
	if said != value {
		return jsonrpc.Errorf(mcp.CodeHeaderMismatch, "header %s is not what the body says", name)
	}
	return nil
}
