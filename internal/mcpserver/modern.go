package mcpserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// modern returns the version in a request; a server without a modern version
// ignores it.
func (s *Session) modern(p *params) (version string, ok bool) {
	if len(s.server.spoken(mcp.Modern)) == 0 {
		return "", false
	}
	raw, ok := p.Meta[mcp.MetaVersion]
	if !ok {
		return "", false
	}
	_ = json.Unmarshal(raw, &version) // not a string: an unsupported version
	return version, true
}

func (s *Session) handleModern(ctx context.Context, from jsonrpc.Peer, method, version string, p *params) (any, error) {
	spoken := s.server.spoken(mcp.Modern)
	if !slices.Contains(spoken, version) {
		return nil, jsonrpc.Errorf(mcp.CodeVersionUnsupported, "unsupported protocol version: %s", version).
			WithData(map[string]any{"supported": spoken, "requested": version})
	}
	var offer map[string]json.RawMessage
	if raw, ok := p.Meta[mcp.MetaCapabilities]; !ok || json.Unmarshal(raw, &offer) != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "missing _meta member %s", mcp.MetaCapabilities)
	}
	c := &Call{Arguments: p.Arguments, Version: version, params: p, server: s.server, from: from, offer: offer, modern: true,
		asked: map[string]any{}}
	_ = json.Unmarshal(p.Meta[mcp.MetaLogLevel], &c.level)
	switch method {
	case mcp.MethodDiscover:
		return s.decorate(method, s.discover()), nil
	case mcp.MethodListen:
		return s.listen(ctx, from, p)
	case mcp.MethodInitialize, mcp.MethodPing, mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe:
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method not found: %s", method)
	}
	if err := c.resume(method); err != nil {
		return nil, err
	}
	result, err := s.server.features.answer(ctx, c, method)
	if errors.Is(err, errAsked) {
		return s.decorate(method, map[string]any{
			"resultType": "input_required", "inputRequests": c.asked, "requestState": c.seal(method),
		}), nil
	}
	if err != nil {
		return nil, err
	}
	return s.decorate(method, result), nil
}

func (s *Session) discover() map[string]any {
	versions := s.server.spoken(mcp.Modern)
	if !s.server.OldQuestions {
		versions = append(versions, s.server.spoken(mcp.Legacy)...)
	}
	result := map[string]any{
		"supportedVersions": versions,
		"capabilities":      s.server.features.capabilities(),
	}
	if s.server.Instructions != "" {
		result["instructions"] = s.server.Instructions
	}
	return result
}

// cacheable lists the methods whose results have cache information.
var cacheable = []string{
	mcp.MethodDiscover, mcp.MethodToolsList, mcp.MethodPromptsList,
	mcp.MethodResourcesList, mcp.MethodTemplatesList, mcp.MethodResourcesRead,
}

// decorate adds the members that every modern result has.
func (s *Session) decorate(method string, result any) any {
	members := map[string]any{"resultType": "complete"}
	if slices.Contains(cacheable, method) {
		members["ttlMs"], members["cacheScope"] = 0, "private"
	}
	maps.Copy(members, result.(map[string]any))
	if members["resultType"] != "complete" {
		delete(members, "ttlMs")
		delete(members, "cacheScope")
	}
	members["_meta"] = map[string]any{mcp.MetaServerInfo: s.server.Info}
	return members
}

// seal encodes the answers so far as a requestState. Its signature ties it to
// this server and this call.
func (c *Call) seal(method string) string {
	state := encode(c.answers)
	return base64.RawURLEncoding.EncodeToString(state) + "." + c.sign(method, state)
}

func (c *Call) sign(method string, state []byte) string {
	mac := hmac.New(sha256.New, c.server.key[:])
	for _, part := range [][]byte{[]byte(method), []byte(c.params.Name), []byte(c.params.URI), c.Arguments, state} {
		mac.Write(append(part, 0))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// resume decodes the answers of earlier rounds from requestState and adds those
// of this round.
func (c *Call) resume(method string) error {
	c.answers = map[string]json.RawMessage{}
	if c.params.RequestState != "" {
		packed, signature, _ := strings.Cut(c.params.RequestState, ".")
		state, err := base64.RawURLEncoding.DecodeString(packed)
		if err != nil || !hmac.Equal([]byte(signature), []byte(c.sign(method, state))) || json.Unmarshal(state, &c.answers) != nil {
			return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "requestState is not valid for this call")
		}
	}
	maps.Copy(c.answers, c.params.InputResponses)
	return nil
}
