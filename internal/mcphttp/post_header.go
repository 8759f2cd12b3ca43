package mcphttp

import (
	"mime"
	"net/http"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// accepted says which of our two media types a client accepts.
type accepted struct{ json, events bool }

// checkHeader checks the header of a POST. If it returns false, the POST has been
// answered.
func (in *incoming) checkHeader() bool {
	h := in.r.Header
	var ok bool
	if in.version, ok = versionOf(h); !ok {
		Refuse(in.w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "more than one MCP-Protocol-Version")
		return false
	}
	in.unknown = in.version != "" && !mcp.IsModern(in.version) && !isLegacy(in.version)
	if !isJSON(h["Content-Type"]) {
		Refuse(in.w, http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, "Content-Type must be application/json in UTF-8")
		return false
	}
	if enc := h["Content-Encoding"]; len(enc) > 0 && !(len(enc) == 1 && strings.EqualFold(enc[0], "identity")) {
		Refuse(in.w, http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, "Content-Encoding is not supported")
		return false
	}
	if in.accept = acceptedBy(h["Accept"]); !in.accept.json && !in.accept.events {
		Refuse(in.w, http.StatusNotAcceptable, jsonrpc.CodeInvalidRequest, "Accept must allow application/json or text/event-stream")
		return false
	}
	return true
}

// versionOf returns the protocol version in a header, "" for none. It reports false
// if there are several.
func versionOf(h http.Header) (string, bool) {
	switch v := h[mcp.HeaderVersion]; len(v) {
	case 0:
		return "", true
	case 1:
		return v[0], true
	}
	return "", false
}

// isLegacy reports whether v can be the result of an initialize.
func isLegacy(v string) bool {
	agreed, err := mcp.Negotiate(v)
	return err == nil && agreed == v
}

func isJSON(contentType []string) bool {
	if len(contentType) != 1 {
		return false
	}
	if contentType[0] == "application/json" {
		return true
	}
	mediaType, params, err := mime.ParseMediaType(contentType[0])
	if err != nil || mediaType != "application/json" {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}

// acceptedBy parses Accept. A client must name text/event-stream to get events: one
// that accepts */* gets JSON.
func acceptedBy(accept []string) accepted {
	switch {
	case len(accept) == 0:
		return accepted{json: true}
	case len(accept) == 1 && accept[0] == "application/json, text/event-stream": // as SDKs write it
		return accepted{json: true, events: true}
	}
	var a accepted
	for _, line := range accept {
		for item := range strings.SplitSeq(line, ",") {
			kind, params, _ := strings.Cut(item, ";")
			if refusedByWeight(params) {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "application/json", "application/*", "*/*":
				a.json = true
			case "text/event-stream", "text/*":
				a.events = true
			case "":
				a.json = a.json || strings.TrimSpace(line) == ""
			}
		}
	}
	return a
}

// refusedByWeight reports whether params have q=0.
func refusedByWeight(params string) bool {
	if params == "" {
		return false
	}
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			value = strings.TrimSpace(value)
			return value != "" && strings.Trim(value, "0.") == ""
		}
	}
	return false
}

// Refuse sends an error before any message was read.
func Refuse(w http.ResponseWriter, status int, code int64, why string) {
	writeError(w, status, nil, jsonrpc.Errorf(code, "%s", why))
}

func writeError(w http.ResponseWriter, status int, id []byte, e *jsonrpc.Error) {
	w.Header()["Content-Type"] = typeJSON
	w.WriteHeader(status)
	w.Write(jsonrpc.AppendResponse(nil, id, &jsonrpc.Response{Err: e}))
}

// refuseSession is the response to any session id that is unknown, malformed, or
// belongs to another principal.
func refuseSession(w http.ResponseWriter) {
	Refuse(w, http.StatusNotFound, jsonrpc.CodeInvalidRequest, "session not found")
}

var retrySoon = []string{"5"}

func refuseDraining(w http.ResponseWriter) {
	w.Header()["Retry-After"] = retrySoon
	writeError(w, http.StatusServiceUnavailable, nil, mcp.ShutsDown())
}

func refuseOverload(w http.ResponseWriter, why string) {
	w.Header()["Retry-After"] = retrySoon
	writeError(w, http.StatusServiceUnavailable, nil, mcp.Failure(mcp.Overloaded, "", why))
}
