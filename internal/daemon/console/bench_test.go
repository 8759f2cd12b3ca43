package console

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/bench"
)

// benchInstance returns a gateway with one demo server, in this process.
func benchInstance(t *testing.T) *instance.Instance {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := must.JSON(t, map[string]any{"mcpServers": map[string]any{"demo": map[string]any{"command": exe, "args": []string{"demo"}}}})
	cfg, err := config.Check("mcp.json", file, config.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in, err := instance.New(context.Background(), instance.Options{Config: cfg, Log: slog.New(slog.DiscardHandler), Level: new(slog.LevelVar), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.End(context.Background()) })
	return in
}

func TestConsoleBench(t *testing.T) {
	in := benchInstance(t)
	opener := &consoleBench{in}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opt := probe.Options{Listen: true, Answer: probe.AnswerFunc(func(context.Context, *probe.Question) (json.RawMessage, error) {
		return json.RawMessage(`{"action":"accept","content":{"name":"Ann"}}`), nil
	})}
	for name, target := range map[string]bench.Target{
		"direct":      {Server: "demo"},
		"gateway":     {Server: "demo", Via: "gateway"},
		"modern":      {Server: "demo", Protocol: "modern", Roots: []config.Root{{URI: "file:///x"}}},
		"its command": {Command: exe, Args: []string{"demo"}, Env: map[string]string{"SECRET": "hush-hush"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			opt := opt
			opt.Protocol, opt.Roots = target.Protocol, target.Roots
			s, err := opener.open(ctx, access.Owner, &target, opt)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close(ctx)
			if i := s.Info(); i.Version == "" || len(i.Handshake) == 0 {
				t.Errorf("info %+v", i)
			}
			x, err := s.Call(ctx, "tools/call", json.RawMessage(`{"name":"ask_name","arguments":{}}`), probe.CallOptions{})
			if err != nil || !strings.Contains(string(x.Result), "Hello, Ann!") {
				t.Fatalf("ask_name: %+v, %v", x, err)
			}
			// A notification may arrive before the request is sent.
			sent := slices.IndexFunc(x.Wire, func(f probe.Frame) bool { return f.Sent && strings.Contains(string(f.Body), "tools/call") })
			if sent < 0 || sent == len(x.Wire)-1 || x.Timing.Total <= 0 {
				t.Errorf("wire %v, total %v", x.Wire, x.Timing.Total)
			}
			if c, ok := in.Traffic.Get(x.Record); !ok || c.Principal != access.Owner.ID || c.Door != traffic.DoorConsole || c.Name != "ask_name" {
				t.Errorf("entry %d of the record: %+v", x.Record, c)
			}
			if x, err = s.Call(ctx, "tools/call", json.RawMessage(`{"name":"none"}`), probe.CallOptions{}); err != nil || x.Err == nil {
				t.Errorf("an unknown tool: %+v, %v", x, err)
			}
			if err := s.SetRoots(ctx, []config.Root{{URI: "file:///y"}}); err != nil {
				t.Error(err)
			}
		})
	}
	other := access.Principal{ID: "key:other", Grant: access.Grant{Admin: true, Servers: []string{"other"}}}
	for _, via := range []string{"direct", "gateway"} {
		if _, err := opener.open(t.Context(), other, &bench.Target{Server: "demo", Via: via}, opt); err == nil {
			t.Errorf("door/7: %s: a key for another server opened", via)
		}
	}
	for name, target := range map[string]bench.Target{"nothing": {}, "unknown": {Server: "none"}, "unreachable": {Command: "/no/such/command"}} {
		if _, err := opener.open(t.Context(), access.Owner, &target, opt); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}
