package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// greet opens the conversation in the era of the plan.
func (s *Session) greet(ctx context.Context, p plan) error {
	s.info.Version = p.version
	if p.era == mcp.Modern {
		if p.probe {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, eraProbe, errHandshake)
			defer cancel()
		}
		return s.discover(ctx)
	}
	return s.initialize(ctx)
}

// capabilities is what the server is told that it may ask for.
func (s *Session) capabilities() []byte {
	if len(s.opt.Capabilities) > 0 {
		return s.opt.Capabilities
	}
	return s.offer.JSON(mcp.Rules(s.info.Version), true)
}

func (s *Session) clientInfo() []byte {
	raw, err := json.Marshal(s.opt.Info)
	if err != nil {
		panic(err) // three strings
	}
	return raw
}

func (s *Session) initialize(ctx context.Context) error {
	params := fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"clientInfo":%s}`,
		jsonrpc.Quote(s.info.Version), s.capabilities(), s.clientInfo())
	resp, err := s.peer.Call(ctx, &jsonrpc.Request{Method: mcp.MethodInitialize, Params: params})
	if err := outcome(ctx, resp, err); err != nil {
		return err
	}
	version, _ := jsonrpc.GetString(resp.Result, "protocolVersion")
	if v, ok := mcp.Lookup(version); (!ok || v.Era != mcp.Legacy) && version != s.info.Version {
		return i18n.Errorf("the server answered with protocol version %q, which is none of %v", "服务返回的协议版本 %q 不在 %v 之中", version, mcp.Versions(mcp.Legacy))
	}
	s.info.Version = version
	s.describe(resp.Result, jsonrpc.Get(resp.Result, "serverInfo"))
	resp.Release()
	if s.client != nil {
		s.info.SessionID = s.client.SessionID()
		s.client.SetVersion(version)
	}
	return s.peer.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationInitialized})
}

func (s *Session) discover(ctx context.Context) error {
	if s.client != nil {
		s.client.SetVersion(s.info.Version)
	}
	resp, err := s.peer.Call(ctx, &jsonrpc.Request{Method: mcp.MethodDiscover, Params: s.withMeta(nil)})
	if err := outcome(ctx, resp, err); err != nil {
		return err
	}
	for v := range jsonrpc.Elements(jsonrpc.Get(resp.Result, "supportedVersions")) {
		var date string
		if json.Unmarshal(v, &date) == nil {
			s.info.Speaks = append(s.info.Speaks, date)
		}
	}
	if !slices.Contains(s.info.Speaks, s.info.Version) {
		return i18n.Errorf("the server speaks %v, not %s", "服务支持 %v，而不是 %s", s.info.Speaks, s.info.Version)
	}
	s.describe(resp.Result, jsonrpc.Get(resp.Result, "_meta", mcp.MetaServerInfo))
	resp.Release()
	return nil
}

// describe keeps what the server says of itself.
func (s *Session) describe(result, info []byte) {
	s.info.Handshake = slices.Clone(result)
	s.info.Capabilities = slices.Clone(jsonrpc.Get(result, "capabilities"))
	s.info.Server = slices.Clone(info)
	s.info.Instructions, _ = jsonrpc.GetString(result, "instructions")
}

// outcome is the one error of a call: the reason why its context ended, what
// the transport said, or what the server answered.
func outcome(ctx context.Context, resp *jsonrpc.Response, err error) error {
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
			return cause
		}
		return err
	}
	if resp.Err != nil {
		return resp.Err
	}
	return nil
}

// withMeta adds what every request to a modern server carries, where it is not
// there already.
func (s *Session) withMeta(params []byte) []byte {
	if s.info.Era != mcp.Modern {
		return params
	}
	if len(params) == 0 {
		params = []byte(`{}`)
	}
	level := s.logLevel()
	for _, m := range []struct {
		key   string
		value []byte
	}{
		{mcp.MetaVersion, jsonrpc.Quote(s.info.Version)},
		{mcp.MetaClientInfo, s.clientInfo()},
		{mcp.MetaCapabilities, s.capabilities()},
		{mcp.MetaLogLevel, level},
	} {
		if m.value != nil && jsonrpc.Get(params, "_meta", m.key) == nil {
			params = jsonrpc.Set(params, m.value, "_meta", m.key)
		}
	}
	return params
}
