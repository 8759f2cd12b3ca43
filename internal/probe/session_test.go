package probe

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
)

// eachWay runs a test against the demo server over every transport and era.
func eachWay(t *testing.T, test func(t *testing.T, open func(Options) *Session)) {
	for _, protocol := range []string{"legacy", "modern", mcp.V2024_11_05} {
		for _, way := range []string{"memory", "stdio", "http", "sse"} {
			if way == "sse" && protocol == "modern" {
				continue // HTTP+SSE exists only in the legacy era
			}
			t.Run(protocol+"/"+way, func(t *testing.T) {
				t.Parallel()
				test(t, func(opt Options) *Session {
					opt.Protocol = protocol
					switch way {
					case "stdio":
						target, launcher := asProcess(t)
						opt.Launcher = launcher
						return mustOpen(t, target, opt)
					case "http":
						return mustOpen(t, overHTTP(t, mcpserver.Demo(), "/mcp"), opt)
					case "sse":
						return mustOpen(t, overHTTP(t, mcpserver.Demo(), "/sse"), opt)
					}
					return mustOpen(t, inMemory(t, mcpserver.Demo()), opt)
				})
			})
		}
	}
}

func TestEveryWay(t *testing.T) {
	eachWay(t, func(t *testing.T, open func(Options) *Session) {
		s := open(Options{})
		t.Run("req/S004-22", func(t *testing.T) {
			if !s.Offers(catalog.Prompts) || s.Info().Version == "" {
				t.Errorf("handshake said %+v", s.Info())
			}
		})
		t.Run("req/S004-21", func(t *testing.T) {
			l, err := s.List(t.Context(), catalog.Prompts)
			if err != nil || len(l.Items) != 2 || l.Find("summarize") == nil {
				t.Errorf("prompts %v, %v", l, err)
			}
		})
		t.Run("req/S004-19", func(t *testing.T) {
			x := mustCall(t, s, mcp.MethodToolsCall, `{"name":"echo","arguments":{"message":"hi"}}`)
			if TextOf(x.Result) != "hi" {
				t.Errorf("echo answered %s", x.Result)
			}
			checkWire(t, x)
		})
		t.Run("req/S004-20", func(t *testing.T) {
			x := mustCall(t, s, mcp.MethodResourcesRead, `{"uri":"demo://text/2"}`)
			if TextOf(x.Result) != "This is text number 2." {
				t.Errorf("read %s", x.Result)
			}
		})
	})
}

// checkWire checks the frames of an exchange: one request of ours, then one
// answer, and no frames of other calls.
func checkWire(t *testing.T, x *Exchange) {
	t.Helper()
	var sent, answers int
	for _, f := range x.Wire {
		_, kind := Identify(f.Body)
		switch {
		case f.Sent && kind == jsonrpc.KindRequest:
			sent++
			if got := jsonrpc.Get(f.Body, "params", "arguments", "message"); string(got) != `"hi"` {
				t.Errorf("sent %s", f.Body)
			}
		case !f.Sent && kind == jsonrpc.KindResult:
			answers++
		}
	}
	if sent != 1 || answers != 1 {
		t.Errorf("%d requests and %d answers among %d frames", sent, answers, len(x.Wire))
	}
	tm := x.Timing
	if tm.Total <= 0 || tm.Transport < 0 || tm.Server < 0 || tm.Transport+tm.Server+tm.Gateway > tm.Total {
		t.Errorf("timing %+v", tm)
	}
}

func TestQuestions(t *testing.T) {
	eachWay(t, func(t *testing.T, open func(Options) *Session) {
		s := open(Options{
			Roots: []config.Root{{URI: "file:///work", Name: "work"}},
			Answer: &Script{Values: map[string]json.RawMessage{
				"elicitation": json.RawMessage(`{"name":"Ann"}`), "sampling": json.RawMessage(`"forty-two"`),
			}},
		})
		elicits := mcp.Rules(s.Info().Version).Elicitation
		for _, tt := range []struct{ tool, arguments, want string }{
			{"ask_name", `{}`, "Hello, Ann!"},
			{"ask_model", `{"prompt":"what?"}`, "tester says: forty-two"},
			{"show_roots", `{}`, "1 roots\nfile:///work"},
		} {
			if tt.tool == "ask_name" && !elicits {
				continue
			}
			x := mustCall(t, s, mcp.MethodToolsCall, `{"name":"`+tt.tool+`","arguments":`+tt.arguments+`}`)
			if got := TextOf(x.Result); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.tool, got, tt.want)
			}
		}
	})
}

func TestNobodyAnswers(t *testing.T) {
	for _, protocol := range []string{"legacy", "modern"} {
		t.Run(protocol, func(t *testing.T) {
			s := mustOpen(t, inMemory(t, mcpserver.Demo()), Options{Protocol: protocol, Answer: Pending})
			_, err := s.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"ask_name"}`), CallOptions{})
			var pending *PendingError
			if !errors.As(err, &pending) {
				t.Fatalf("error %v, want a PendingError", err)
			}
			if pending.Question.Kind() != "elicitation" || pending.Question.Name != "ask_name" {
				t.Errorf("question %+v", pending.Question)
			}
		})
	}
}

func TestNotOffered(t *testing.T) {
	s := mustOpen(t, inMemory(t, mcpserver.Demo()), Options{Protocol: "legacy", Offer: &mcp.Offer{Sampling: true}, Answer: Decline})
	x := mustCall(t, s, mcp.MethodToolsCall, `{"name":"ask_name"}`)
	if !x.IsToolError() || len(x.Wire) != 2 {
		t.Errorf("a question that was not offered: %s, %d frames", x.Result, len(x.Wire))
	}
}

func TestProgressAndLimits(t *testing.T) {
	for _, protocol := range []string{"legacy", "modern"} {
		t.Run(protocol, func(t *testing.T) {
			s := mustOpen(t, overHTTP(t, mcpserver.Demo(), "/mcp"), Options{Protocol: protocol})
			var seen []Progress
			x, err := s.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"long_task","arguments":{"seconds":1.2,"steps":4}}`),
				CallOptions{Idle: time.Second, OnProgress: func(p Progress) { seen = append(seen, p) }})
			if err != nil {
				t.Fatalf("progress must renew the idle limit: %v", err)
			}
			if x.Notices != 4 || len(seen) != 4 || seen[3] != (Progress{4, 4, "step 4 of 4"}) {
				t.Errorf("progress %v", seen)
			}
			_, err = s.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"long_task","arguments":{"seconds":30,"steps":1}}`), CallOptions{Idle: 50 * time.Millisecond})
			if !errors.Is(err, ErrIdle) {
				t.Errorf("a silent call: %v, want ErrIdle", err)
			}
			_, err = s.Call(t.Context(), mcp.MethodToolsCall, json.RawMessage(`{"name":"long_task","arguments":{"seconds":30,"steps":3000}}`), CallOptions{Limit: 50 * time.Millisecond})
			if !errors.Is(err, ErrLimit) {
				t.Errorf("a long call: %v, want ErrLimit", err)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	s := mustOpen(t, inMemory(t, mcpserver.Demo()), Options{Protocol: "legacy"})
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := s.Call(ctx, mcp.MethodToolsCall, json.RawMessage(`{"name":"long_task","arguments":{"seconds":30,"steps":3000}}`),
		CallOptions{OnProgress: func(Progress) { cancel(ErrCancelled) }})
	if !errors.Is(err, ErrCancelled) {
		t.Fatalf("error %v, want ErrCancelled", err)
	}
	deadline := time.After(5 * time.Second)
	for {
		for _, f := range s.Frames() {
			if method, _ := jsonrpc.GetString(f.Body, "method"); f.Sent && method == mcp.NotificationCancelled {
				return
			}
		}
		select {
		case <-deadline:
			t.Fatal("the server was not told")
		default:
		}
	}
}

func TestSubscribe(t *testing.T) {
	eachWay(t, func(t *testing.T, open func(Options) *Session) {
		updates := make(chan string, 16)
		s := open(Options{OnNotification: func(method string, params json.RawMessage) {
			if method == mcp.NotificationUpdated {
				uri, _ := jsonrpc.GetString(params, "uri")
				select {
				case updates <- uri:
				default:
				}
			}
		}})
		stop, err := s.Subscribe(t.Context(), "demo://clock")
		if err != nil {
			t.Fatal(err)
		}
		select {
		case uri := <-updates:
			if uri != "demo://clock" {
				t.Errorf("update of %q", uri)
			}
		case <-time.After(10 * time.Second):
			t.Error("no update")
		}
		if err := stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestSecretsAreHidden(t *testing.T) {
	handlerTarget := overHTTP(t, mcpserver.Demo(), "/mcp")
	handlerTarget.Header = map[string][]string{"X-Team": {"sesame-open"}}
	handlerTarget.Secrets = []string{"sesame-open"}
	s := mustOpen(t, handlerTarget, Options{Protocol: "legacy"})
	mustCall(t, s, mcp.MethodToolsCall, `{"name":"echo","arguments":{"message":"sesame-open"}}`)
	for _, f := range s.Frames() {
		if strings.Contains(string(f.Body), "sesame") || strings.Contains(f.Header.Get("X-Team"), "sesame") {
			t.Errorf("a secret is shown: %v %s", f.Header, f.Body)
		}
	}
}

func TestPages(t *testing.T) {
	server := mcpserver.Demo()
	server.PageSize = 2
	s := mustOpen(t, inMemory(t, server), Options{Protocol: "legacy"})
	l, err := s.List(t.Context(), catalog.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Items) != 11 || l.Pages != 6 {
		t.Errorf("%d tools on %d pages", len(l.Items), l.Pages)
	}
	for _, f := range s.Frames() {
		if method, _ := jsonrpc.GetString(f.Body, "method"); f.Sent && method == mcp.MethodToolsList {
			if params := jsonrpc.Get(f.Body, "params"); params != nil {
				t.Errorf("the first page was asked for with params %s", params)
			}
			return
		}
	}
}

func TestFindsTheEra(t *testing.T) {
	for _, versions := range [][]string{mcpserver.LegacyVersions, mcpserver.ModernVersions} {
		server := mcpserver.Demo()
		server.Versions = versions
		for _, target := range []Target{inMemory(t, server), overHTTP(t, server, "/mcp")} {
			s := mustOpen(t, target, Options{})
			if got := s.Info().Version; got != versions[len(versions)-1] {
				t.Errorf("%s: version %s, want one of %v", target.Name, got, versions)
			}
		}
	}
}

func TestFallsBackToSSE(t *testing.T) {
	target := overHTTP(t, mcpserver.Demo(), "/sse")
	target.Type = config.TypeAuto
	if got := mustOpen(t, target, Options{}).Info().Transport; got != config.TypeSSE {
		t.Errorf("transport %s", got)
	}
	if s, err := Open(t.Context(), target, Options{Protocol: "modern"}); err == nil {
		s.Close(t.Context())
		t.Errorf("a modern session was asked for, and one of %s opened", s.Info().Version)
	}
}

func TestUnreachable(t *testing.T) {
	_, launcher := asProcess(t)
	for name, target := range map[string]Target{
		"no such command": {Name: "x", Command: "/no/such/command"},
		"no listener":     {Name: "x", URL: "http://127.0.0.1:1/mcp", Type: config.TypeHTTP},
		"it ends":         {Name: "x", Command: "false"},
	} {
		_, err := Open(t.Context(), target, Options{Launcher: launcher})
		if _, ok := errors.AsType[*StartError](err); !ok {
			t.Errorf("%s: %v, want a StartError", name, err)
		}
	}
}
