package httpclient

import (
	"iter"
	"maps"
	"net/http"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// notConfigurable are the headers that belong to one connection, or that the
// protocol sets itself.
var notConfigurable = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Host", "Content-Length", "Content-Type", "Content-Encoding", "Accept", "Accept-Encoding",
	mcp.HeaderSession, mcp.HeaderVersion, mcp.HeaderMethod, mcp.HeaderName, mcp.HeaderLastEvent,
}

// clientHeader returns the configured headers that are sent with every request.
func clientHeader(configured http.Header) http.Header {
	h := http.Header{"User-Agent": {"mcp-all-in-one/" + mcp.ProductVersion}}
	for name, values := range configured {
		h[http.CanonicalHeaderKey(name)] = values
	}
	for _, listed := range h["Connection"] {
		for name := range strings.SplitSeq(listed, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range notConfigurable {
		delete(h, name)
	}
	return h
}

// headerFor returns the headers of a message to the server.
func (e *endpoint) headerFor(method string, params []byte) http.Header {
	st := e.state.Load()
	if !e.modern {
		if method != mcp.MethodInitialize || (st.session == "" && st.version == "") {
			return st.header
		}
		h := maps.Clone(st.header)
		delete(h, mcp.HeaderSession)
		delete(h, mcp.HeaderVersion)
		return h
	}
	h := maps.Clone(st.header)
	h[mcp.HeaderMethod] = []string{method}
	for name, value := range e.fieldsFor(method, params) {
		h[name] = append(h[name][:len(h[name]):len(h[name])], value)
	}
	return h
}

// fieldsFor returns the headers of a message to a modern server that repeat some of
// its params.
func (e *endpoint) fieldsFor(method string, params []byte) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		member := mcp.NameMember(method)
		if member == "" {
			return
		}
		name, ok := jsonrpc.GetString(params, member)
		if !ok || !yield(mcp.HeaderName, mcp.EncodeHeader(name)) || method != mcp.MethodToolsCall || e.paramHeaders == nil {
			return
		}
		for field, values := range e.paramHeaders(name, jsonrpc.Get(params, "arguments")) {
			if field = http.CanonicalHeaderKey(field); !strings.HasPrefix(field, mcp.ParamHeaderPrefix) {
				continue
			}
			for _, v := range values {
				if !yield(field, mcp.EncodeHeader(v)) {
					return
				}
			}
		}
	}
}
