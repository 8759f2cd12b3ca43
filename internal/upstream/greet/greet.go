// Package greet opens the conversation with a server, in either era.
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

// A Hello is what a server is told of its client.
type Hello struct {
	Version string // proposed to a legacy server
	Offer   mcp.Offer
	Info    []byte // raw clientInfo
}

// A Server is what a server says of itself.
type Server struct {
	Version      string
	Speaks       []string // every version that it says it speaks
	Capabilities []byte   // raw
	Info         []byte   // raw serverInfo
	Instructions string
}

// Has says whether the server declared a capability.
func (s *Server) Has(path ...string) bool {
	raw := jsonrpc.Get(s.Capabilities, path...)
	return len(raw) > 0 && raw[0] != 'f' && raw[0] != 'n'
}

// HasTasks says whether the tools of the server may run as tasks, in the dialect
// of an era.
func (s *Server) HasTasks(era mcp.Era) bool {
	if era == mcp.Modern {
		return s.Has("extensions", mcp.TasksExtension)
	}
	return s.Has("tasks")
}

// Initialize shakes hands with a legacy server. back answers what it asks
// meanwhile.
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
		return i18n.Errorf("the server answered with protocol version %q, which is none of %v", "服务返回的协议版本 %q 不在 %v 之中", version, mcp.Versions(mcp.Legacy))
	}
	s.Version, s.Speaks = version, []string{version}
	s.describe(resp.Result, jsonrpc.Get(resp.Result, "serverInfo"))
	resp.Release()
	if client, ok := peer.(*httpclient.Client); ok {
		client.SetVersion(version)
	}
	return peer.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationInitialized})
}

// Discover opens a conversation with a modern server, which has as long as
// patience to answer. back answers what it asks meanwhile.
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
		return i18n.Errorf("the server speaks %v: %w", "服务支持 %v：%w", speaks, errNotModern)
	}
	s.Speaks = speaks
	s.describe(resp.Result, jsonrpc.Get(resp.Result, "_meta", mcp.MetaServerInfo))
	return nil
}

// describe keeps what the server says of itself.
func (s *Server) describe(result, info []byte) {
	s.Capabilities = slices.Clone(jsonrpc.Get(result, "capabilities"))
	s.Info = slices.Clone(info)
	s.Instructions, _ = jsonrpc.GetString(result, "instructions")
}

// SpeaksLegacy says whether the server names a version of the legacy era.
func (s *Server) SpeaksLegacy() bool { return slices.ContainsFunc(s.Speaks, isLegacy) }

func isLegacy(version string) bool {
	v, ok := mcp.Lookup(version)
	return ok && v.Era == mcp.Legacy
}

var errNotModern = i18n.Errorf("none of these versions is modern", "其中没有新版协议")

// RefusesModern says that a server answered server/discover as one that is not
// modern.
func RefusesModern(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) || errors.Is(err, errNotModern)
}
