package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// An identity describes the simulated client to the server: its name, the
// requests it accepts, and the log level it wants.
type identity struct {
	info     mcp.Implementation
	offer    mcp.Offer
	declared json.RawMessage        // capabilities to send unchanged, instead of the offer
	level    atomic.Pointer[string] // of the log; empty for none
}

func (i *identity) init(opt *Options) {
	i.info, i.declared = opt.Info, opt.Capabilities
	i.level.Store(&opt.LogLevel)
	switch {
	case len(opt.Capabilities) > 0:
		i.offer = mcp.ParseOffer(opt.Capabilities)
	case opt.Offer != nil:
		i.offer = *opt.Offer
	default:
		i.offer = mcp.Everything
	}
}

// capabilities returns the client capabilities to send.
func (i *identity) capabilities(version string) []byte {
	if len(i.declared) > 0 {
		return i.declared
	}
	return i.offer.JSON(mcp.Rules(version), true)
}

func (i *identity) clientInfo() []byte {
	raw, err := json.Marshal(i.info)
	if err != nil {
		panic(err) // never fails for three strings
	}
	return raw
}

// withMeta adds the _meta members that every request to a modern server
// carries, unless they are present.
func (i *identity) withMeta(params []byte, version string) []byte {
	if len(params) == 0 {
		params = []byte(`{}`)
	}
	var level []byte
	if text := *i.level.Load(); text != "" {
		level = jsonrpc.Quote(text)
	}
	for _, m := range []struct {
		key   string
		value []byte
	}{
		{mcp.MetaVersion, jsonrpc.Quote(version)},
		{mcp.MetaClientInfo, i.clientInfo()},
		{mcp.MetaCapabilities, i.capabilities(version)},
		{mcp.MetaLogLevel, level},
	} {
		if m.value != nil && jsonrpc.Get(params, "_meta", m.key) == nil {
			params = jsonrpc.Set(params, m.value, "_meta", m.key)
		}
	}
	return params
}

// greet performs the handshake in the era of the plan.
func (s *Session) greet(ctx context.Context, p plan) error {
	s.info.Version = p.version
	if p.era == mcp.Modern {
		if p.probe {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, eraProbe, ErrHandshake)
			defer cancel()
		}
		return s.discover(ctx)
	}
	return s.initialize(ctx)
}

func (s *Session) initialize(ctx context.Context) error {
	params := fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"clientInfo":%s}`,
		jsonrpc.Quote(s.info.Version), s.identity.capabilities(s.info.Version), s.identity.clientInfo())
	resp, err := s.link.peer.Call(ctx, &jsonrpc.Request{Method: mcp.MethodInitialize, Params: params})
	if err := outcome(ctx, resp, err); err != nil {
		return err
	}
	version, _ := jsonrpc.GetString(resp.Result, "protocolVersion")
	if v, ok := mcp.Lookup(version); (!ok || v.Era != mcp.Legacy) && version != s.info.Version {
		return i18n.Errorf("the server answered with protocol version %q; supported: %v", "服务器返回的协议版本是 %q；支持的版本：%v", version, mcp.Versions(mcp.Legacy))
	}
	s.info.Version = version
	s.info.describe(resp.Result, jsonrpc.Get(resp.Result, "serverInfo"))
	resp.Release()
	if s.link.client != nil {
		s.info.SessionID = s.link.client.SessionID()
		s.link.client.SetVersion(version)
	}
	return s.link.peer.Notify(ctx, &jsonrpc.Notification{Method: mcp.NotificationInitialized})
}

func (s *Session) discover(ctx context.Context) error {
	if s.link.client != nil {
		s.link.client.SetVersion(s.info.Version)
	}
	resp, err := s.link.peer.Call(ctx, &jsonrpc.Request{Method: mcp.MethodDiscover, Params: s.identity.withMeta(nil, s.info.Version)})
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
		return i18n.Errorf("the server speaks %v, not %s", "服务器支持 %v，而不是 %s", s.info.Speaks, s.info.Version)
	}
	s.info.describe(resp.Result, jsonrpc.Get(resp.Result, "_meta", mcp.MetaServerInfo))
	resp.Release()
	return nil
}

// describe stores the server's description of itself.
func (i *Info) describe(result, info []byte) {
	i.Handshake = slices.Clone(result)
	i.Capabilities = slices.Clone(jsonrpc.Get(result, "capabilities"))
	i.Server = slices.Clone(info)
	i.Instructions, _ = jsonrpc.GetString(result, "instructions")
}

// outcome returns the error of a call: the reason why its context ended, the
// error of the transport, or the error that the server answered.
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
