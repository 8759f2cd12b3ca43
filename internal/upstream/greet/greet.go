// Package greet performs the handshake with a server, in either era.
package greet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/upstream/failure"
	"mcp-all-in-one/internal/upstream/modern"
)

// A Hello is what the handshake tells a server about the client.
type Hello struct {
	Version string // proposed to a legacy server
	Offer   mcp.Offer
	Info    []byte // raw clientInfo
}

// A Server is what a server says about itself in the handshake.
type Server struct {
	Version      string
	Speaks       []string // all versions that the server supports
	Capabilities []byte   // raw
	Info         []byte   // raw serverInfo
	Instructions string
}

// Has reports whether the server declared a capability.
func (s *Server) Has(path ...string) bool {
	raw := jsonrpc.Get(s.Capabilities, path...)
	return len(raw) > 0 && raw[0] != 'f' && raw[0] != 'n'
}

// HasTasks reports whether the server declared tasks, in the dialect of an era.
func (s *Server) HasTasks(era mcp.Era) bool {
	if era == mcp.Modern {
		return s.Has("extensions", mcp.TasksExtension)
	}
	return s.Has("tasks")
}

// Initialize performs the handshake with a legacy server. back answers questions
// of the server meanwhile.
func (s *Server) Initialize(ctx context.Context, peer jsonrpc.Peer, back jsonrpc.Handler, h Hello) error {
	params := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}`,
		h.Version, h.Offer.JSON(mcp.Rules(h.Version), true), h.Info)
	resp, err := peer.Call(ctx, &jsonrpc.Request{Method: mcp.MethodInitialize, Params: params, Back: back})
	if err != nil {
		return failure.Cause(ctx, err)
	}
	if resp.Err != nil {
		return resp.Err
	}
	version, _ := jsonrpc.GetString(resp.Result, "protocolVersion")
	if !isLegacy(version) {
		return i18n.Errorf("the server answered with protocol version %q; supported: %v", "服务器返回的协议版本是 %q；支持的版本：%v", version, mcp.Versions(mcp.Legacy))
	}
	s.Version, s.Speaks = version, []string{version}
	s.describe(resp.Result, jsonrpc.Get(resp.Result, "serverInfo"))
	resp.Release()
	if client, ok := peer.(*httpclient.Client); ok {
		client.SetVersion(version)
	}
	return peer.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationInitialized})
}

// Discover performs the handshake with a modern server, which must answer within
// patience. back answers questions of the server meanwhile.
func (s *Server) Discover(ctx context.Context, peer jsonrpc.Peer, back jsonrpc.Handler, h Hello, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, failure.TooLate(patience))
	defer cancel()
	s.Version = mcp.LatestModern
	params := modern.WithMeta(nil, h.Offer, h.Info, "")
	resp, err := modern.Call(ctx, peer, &jsonrpc.Request{Method: mcp.MethodDiscover, Params: params, Back: back})
	if err != nil {
		return failure.Cause(ctx, err)
	}
	if resp.Err != nil {
		return resp.Err
	}
	defer resp.Release()
	speaks := modern.Versions(jsonrpc.Get(resp.Result, "supportedVersions"))
	if !slices.Contains(speaks, mcp.LatestModern) {
		return i18n.Errorf("the server speaks %v: %w", "服务器支持 %v：%w", speaks, errNotModern)
	}
	s.Speaks = speaks
	s.describe(resp.Result, jsonrpc.Get(resp.Result, "_meta", mcp.MetaServerInfo))
	return nil
}

// describe stores what the server says about itself.
func (s *Server) describe(result, info []byte) {
	s.Capabilities = slices.Clone(jsonrpc.Get(result, "capabilities"))
	s.Info = slices.Clone(info)
	s.Instructions, _ = jsonrpc.GetString(result, "instructions")
}

// SpeaksLegacy reports whether the server lists a version of the legacy era.
func (s *Server) SpeaksLegacy() bool { return slices.ContainsFunc(s.Speaks, isLegacy) }

func isLegacy(version string) bool {
	v, ok := mcp.Lookup(version)
	return ok && v.Era == mcp.Legacy
}

var errNotModern = i18n.Errorf("none of these versions is modern", "其中没有新版协议")

// RefusesModern reports whether the answer to server/discover shows that the
// server is not modern.
func RefusesModern(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) || errors.Is(err, errNotModern)
}
