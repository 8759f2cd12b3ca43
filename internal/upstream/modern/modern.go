// Package modern implements the modern era towards servers: the metadata of each
// request, and the questions in answers.
package modern

import (
	"context"
	"net/http"
	"slices"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// WithMeta adds the metadata of a request to a modern server: the version, the
// client info, the offer and the log level.
func WithMeta(params []byte, offer mcp.Offer, info []byte, logLevel string) []byte {
	if len(params) == 0 {
		params = []byte(`{}`)
	}
	meta := jsonrpc.Get(params, "_meta")
	if len(meta) == 0 || meta[0] != '{' {
		meta = []byte(`{}`)
	}
	meta = jsonrpc.Set(meta, jsonrpc.Quote(mcp.LatestModern), mcp.MetaVersion)
	meta = jsonrpc.Set(meta, offer.JSON(mcp.Rules(mcp.LatestModern), false), mcp.MetaCapabilities)
	meta = jsonrpc.Set(meta, info, mcp.MetaClientInfo)
	if logLevel != "" {
		meta = jsonrpc.Set(meta, jsonrpc.Quote(logLevel), mcp.MetaLogLevel)
	}
	return jsonrpc.Set(params, meta, "_meta")
}

// WithoutMeta removes the metadata that a legacy server does not know.
func WithoutMeta(params []byte) []byte {
	meta := jsonrpc.Get(params, "_meta")
	if meta == nil {
		return params
	}
	left := 0
	for key := range jsonrpc.Members(meta) {
		if !mcp.IsCallerMeta(key) {
			left++
		}
	}
	if left == 0 {
		return jsonrpc.Set(params, nil, "_meta")
	}
	for key := range jsonrpc.Members(meta) {
		if mcp.IsCallerMeta(key) {
			params = jsonrpc.Set(params, nil, "_meta", key)
		}
	}
	return params
}

// Call sends a request. It sends it once more if the server refused our modern
// version but lists that version as supported.
func Call(ctx context.Context, peer jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	resp, err := peer.Call(ctx, req)
	if resp == nil || resp.Err == nil || resp.Err.Code != mcp.CodeVersionUnsupported {
		return resp, err
	}
	if slices.Contains(Versions(jsonrpc.Get(resp.Err.Data, "supported")), mcp.LatestModern) {
		return peer.Call(ctx, req)
	}
	return resp, err
}

// RefusesVersion reports whether an error says that the server does not speak the
// version of a connection of an era. A legacy server may use the code for something
// else, so there the error must name the versions, as a modern server does.
func RefusesVersion(err *jsonrpc.Error, era mcp.Era) bool {
	return err != nil && err.Code == mcp.CodeVersionUnsupported && (era == mcp.Modern || len(Versions(jsonrpc.Get(err.Data, "supported"))) > 0)
}

// Versions returns the strings in a JSON list of versions.
func Versions(list []byte) []string {
	var versions []string
	for v := range jsonrpc.Elements(list) {
		if s, ok := unquote(v); ok {
			versions = append(versions, s)
		}
	}
	return versions
}

func unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return jsonrpc.GetString(append(append([]byte(`{"s":`), raw...), '}'), "s")
}

// ParamHeaders returns the arguments that a modern HTTP server wants mirrored as
// headers, according to the schema of the tool.
func ParamHeaders(f *catalog.Features, tool string, arguments []byte) http.Header {
	if f == nil {
		return nil
	}
	at := slices.IndexFunc(f.Tools, func(it catalog.Item) bool { return it.Key == tool })
	if at < 0 {
		return nil
	}
	params := catalog.HeaderParams(&f.Tools[at])
	if len(params) == 0 {
		return nil
	}
	header := make(http.Header, len(params))
	for _, p := range params {
		if text, ok := mcp.HeaderText(arguments, p.Path...); ok {
			header.Set(mcp.ParamHeaderPrefix+p.Header, text)
		}
	}
	return header
}
