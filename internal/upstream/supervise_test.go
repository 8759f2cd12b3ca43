package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/upstream"
)

func hostile(t *testing.T, name string, args ...string) *config.Server {
	s := fake(t, name, append([]string{"-role", "hostile"}, args...)...)
	s.RestartDelay = 20 * time.Millisecond
	return s
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := mcptest.Kill(pid); err != nil {
		t.Fatalf("killing %d: %v", pid, err)
	}
}

func TestCrash(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	w := newWorld(t, worldOptions{}, hostile(t, "a", "-journal", journal), hostile(t, "b"))
	first := w.state("a", upstream.Ready)
	w.state("b", upstream.Ready)

	t.Run("fault/F1", func(t *testing.T) {
		begun := time.Now()
		kill(t, first.PID)
		down := w.await("down", "a", func(s upstream.Status) bool { return s.State != upstream.Ready || s.PID != first.PID })
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("noticed after %v", took)
		}
		if down.Tools != first.Tools {
			t.Errorf("%d tools while it bounces, %d before", down.Tools, first.Tools)
		}
		again := w.await("up again", "a", func(s upstream.Status) bool { return s.State == upstream.Ready && s.PID != first.PID })
		if again.Restarts != 1 || again.Tools != first.Tools {
			t.Errorf("%d restarts, %d tools", again.Restarts, again.Tools)
		}
	})

	t.Run("fault/F2", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if _, reason := w.call("a", "never", fmt.Sprintf(`{"token":"never-%d"}`, i)); reason != string(mcp.UpstreamClosed) {
					t.Errorf("a call in flight ended with %q", reason)
				}
			})
		}
		must.Await(t, "journal", func() bool {
			_, err := os.Stat(journal)
			return err == nil && len(mcptest.Journal(t, journal)) == 20
		})
		if _, err := w.up("a").Call(t.Context(), legacyCaller(), &jsonrpc.Request{
			Method: mcp.MethodToolsCall, Params: []byte(`{"name":"crash","arguments":{"token":"crash"}}`),
		}); err == nil || !strings.Contains(err.Error(), "exit") {
			t.Errorf("the error does not say how the server ended: %v", err)
		}
		wg.Wait()
		w.echo("b", "the other one is unaffected")
		w.echo("a", "the next call waits for the restart")
		for token, n := range mcptest.Journal(t, journal) {
			if n != 1 {
				t.Errorf("%s ran %d times", token, n)
			}
		}
	})
}

func TestExitAtStart(t *testing.T) {
	for _, id := range []string{"F3"} {
		t.Run("fault/"+id, func(t *testing.T) {
			quick := hostile(t, "a", "-mode", "exit-start")
			quick.RestartDelay = time.Millisecond
			w := newWorld(t, worldOptions{}, quick, hostile(t, "b"))
			w.state("b", upstream.Ready)
			looping := w.state("a", upstream.CrashLooping)
			if looping.Restarts < 6 {
				t.Errorf("a crash loop after %d ends", looping.Restarts)
			}
			if !strings.Contains(strings.Join(looping.Stderr, "\n"), "no licence file") {
				t.Errorf("its last words are lost: %q", looping.Stderr)
			}
			if !strings.Contains(looping.Reason.String(), "no licence file") {
				t.Errorf("the reason hides its last words: %s", looping.Reason)
			}
			begun := time.Now()
			if _, reason := w.call("a", "echo", `{}`); reason != string(mcp.UpstreamUnavailable) || time.Since(begun) > 2*time.Second {
				t.Errorf("a call to a looping server: %q after %v", reason, time.Since(begun))
			}
			if again := w.up("a").Status(); again.Restarts > looping.Restarts+1 {
				t.Errorf("it is restarted in a storm: %d, then %d", looping.Restarts, again.Restarts)
			}
		})
	}
}

func TestRestartFalse(t *testing.T) {
	t.Run("req/S001-73", func(t *testing.T) {
		entry := hostile(t, "a")
		entry.Restart = false
		w := newWorld(t, worldOptions{}, entry)
		was := w.state("a", upstream.Ready)
		kill(t, was.PID)
		w.state("a", upstream.Failed)
		if _, reason := w.call("a", "echo", `{}`); reason != string(mcp.UpstreamUnavailable) {
			t.Errorf("a call while it is down: %q", reason)
		}
		w.up("a").Restart() // a requested restart still works
		w.state("a", upstream.Ready)
		w.echo("a", "back")
	})
}

func TestHangAtStart(t *testing.T) {
	t.Run("fault/F4", func(t *testing.T) {
		hang := hostile(t, "a", "-mode", "hang-init")
		hang.RestartDelay = time.Hour
		w := newWorld(t, worldOptions{limits: func(l *config.Limits) { l.Handshake = 300 * time.Millisecond }}, hang, hostile(t, "b"))
		w.state("b", upstream.Ready)
		w.echo("b", "not delayed")
		if failed := w.state("a", upstream.Failed); !strings.Contains(failed.Reason.String(), "handshake") || failed.PID != 0 {
			t.Errorf("reason %q, pid %d", failed.Reason, failed.PID)
		}
	})
}

// TestQuestionOfTheDead checks that a question that a client has not answered does
// not hide that its server has ended.
func TestQuestionOfTheDead(t *testing.T) {
	entry := fake(t, "a", "-era", "legacy")
	entry.RestartDelay = 20 * time.Millisecond
	w := newWorld(t, worldOptions{}, entry)
	was := w.state("a", upstream.Ready)
	asked := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := legacyCaller()
	c.Offer = mcp.ParseOffer([]byte(`{"sampling":{}}`))
	answered := make(chan string, 1)
	go func() {
		_, err := w.up("a").Call(ctx, c, &jsonrpc.Request{
			Method: mcp.MethodToolsCall, Params: []byte(`{"name":"ask_model","arguments":{"prompt":"?"}}`),
			Back: silent{asked},
		})
		answered <- fmt.Sprint(err)
	}()
	<-asked
	kill(t, was.PID)
	w.await("noticed", "a", func(s upstream.Status) bool { return s.PID != was.PID })
	<-answered
	w.echo("a", "back")
}

// silent never answers.
type silent struct{ asked chan struct{} }

func (s silent) Handle(ctx context.Context, _ jsonrpc.Peer, _ *jsonrpc.Request) (*jsonrpc.Response, error) {
	close(s.asked)
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (silent) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

func TestMisbehaviour(t *testing.T) {
	modes := []string{"", "banner", "garbage", "crlf", "partial", "trailing-blank", "stderr-flood", "exit-discover", "hang-discover", "cursor-loop", "changing", "bad-tools", "float-ids", "string-ids", "arrays"}
	var servers []*config.Server
	for _, mode := range modes {
		servers = append(servers, hostile(t, "x"+mode, "-mode", mode))
	}
	w := newWorld(t, worldOptions{limits: func(l *config.Limits) { l.ServerMessage = 2 << 20 }}, servers...)
	for _, mode := range modes {
		name := "x" + mode
		before := w.state(name, upstream.Ready)
		for _, tc := range []struct{ name, tool, arguments, text, reason string }{
			{"F7", "garbage", `{"count":200,"token":"t"}`, "t", ""},
			{"F8", "echo", `{"token":"é漢😀"}`, "é漢😀", ""},
			{"F9", "huge", `{"bytes":3000000,"newline":true}`, "", string(mcp.ResponseTooLarge)},
			{"F10", "flood", `{"count":5000,"token":"t"}`, "t", ""},
			{"P14", "wrong_id", `{"answer":true,"token":"t"}`, "t", ""},
			{"P14", "string_id", `{"answer":true,"token":"t"}`, "t", ""},
			{"P14", "both", `{}`, "", string(mcp.UpstreamProtocol)},
			{"P14", "neither", `{}`, "", string(mcp.UpstreamProtocol)},
			{"P14", "twice", `{"token":"t"}`, "t", ""},
			{"P7", "deep", `{"count":2000}`, "", string(mcp.UpstreamProtocol)},
			{"F25", "odd_error", `{}`, "", "-32603"},
		} {
			if mode == "partial" && (tc.tool == "flood" || tc.tool == "deep") {
				continue // it writes seven bytes a millisecond
			}
			t.Run("fault/"+tc.name+"/"+mode+"/"+tc.tool, func(t *testing.T) {
				if text, reason := w.call(name, tc.tool, tc.arguments); reason != tc.reason || tc.text != "" && text != tc.text {
					t.Errorf("got %.100q, %q", text, reason)
				}
				w.echo(name, "alive")
			})
		}
		if after := w.up(name).Status(); after.PID != before.PID {
			t.Errorf("%s: it was restarted", name)
		}
	}
}

// An answer that cannot be parsed ends its call. If the answer has lost its id, it
// ends the only call in flight.
func TestBrokenAnswer(t *testing.T) {
	for _, mode := range []string{"", "garbage", "crlf"} {
		w := newWorld(t, worldOptions{}, hostile(t, "a", "-mode", mode))
		w.state("a", upstream.Ready)
		for _, tool := range []string{"broken", "broken_id", "both", "neither"} {
			t.Run("door/16 "+tool+" "+mode, func(t *testing.T) {
				if text, reason := w.call("a", tool, `{}`); reason != string(mcp.UpstreamProtocol) {
					t.Errorf("got %.100q, %q", text, reason)
				}
				w.echo("a", "alive")
			})
		}
	}
}

func TestFlood(t *testing.T) {
	t.Run("fault/F10", func(t *testing.T) {
		w := newWorld(t, worldOptions{}, hostile(t, "a"))
		w.state("a", upstream.Ready)
		var heard progressCount
		resp, err := w.up("a").Call(t.Context(), legacyCaller(), &jsonrpc.Request{
			Method: mcp.MethodToolsCall, Back: &heard,
			Params: []byte(`{"name":"progress","arguments":{"count":20000,"token":"t"},"_meta":{"progressToken":"mine"}}`),
		})
		if err != nil || resp.Err != nil {
			t.Fatal(err, resp)
		}
		heard.mu.Lock()
		defer heard.mu.Unlock()
		if heard.n == 0 || heard.n > 5000 || heard.foreign > 0 || !heard.rising {
			t.Errorf("%d reports, %d with a foreign token, rising %v", heard.n, heard.foreign, heard.rising)
		}
		w.echo("a", "alive")
	})
}

type progressCount struct {
	mu         sync.Mutex
	n, foreign int
	last       float64
	rising     bool
}

func (p *progressCount) Handle(context.Context, jsonrpc.Peer, *jsonrpc.Request) (*jsonrpc.Response, error) {
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "no")
}

func (p *progressCount) HandleNotification(_ context.Context, _ jsonrpc.Peer, n *jsonrpc.Notification) {
	var v struct {
		ProgressToken string
		Progress      float64
	}
	err := json.Unmarshal(n.Params, &v)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rising = (p.n == 0 || p.rising) && v.Progress > p.last
	p.last = v.Progress
	p.n++
	if err != nil || v.ProgressToken != "mine" {
		p.foreign++
	}
}
