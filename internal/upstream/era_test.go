package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/memory"
)

// clientOf returns the only client of a stdio session.
func clientOf(era mcp.Era) *upstream.Caller {
	c := &upstream.Caller{Session: "1", Era: era, Version: mcp.LatestLegacy}
	if era == mcp.Modern {
		c.Version = mcp.LatestModern
	}
	return c
}

// greeted returns a world whose only client has sent its greeting.
func greeted(t *testing.T, c *upstream.Caller, memory *memory.Memory, server *config.Server) *world {
	t.Helper()
	g := upstream.NewGreeting("local")
	g.Set(c)
	return newWorld(t, worldOptions{greeting: g, memory: memory}, server)
}

// Over a pipe a server is probed in one era at a time, and is reached however long
// it takes to start. All servers start at the same time.
func TestErasOverAPipe(t *testing.T) {
	type start struct {
		*world
		name, speaks string // speaks is the version that the client gets
		client       *upstream.Caller
		memory       *memory.Memory
		entry        *config.Server
	}
	var starts []start
	for _, c := range []struct {
		name, speaks string // speaks is the version that a modern client gets
		args         []string
	}{
		{"sdk at once", mcp.LatestModern, []string{"-role", "sdk"}},
		{"sdk after 3s", mcp.LatestModern, []string{"-role", "sdk", "-delay", "3s"}},
		{"sdk after 8s", mcp.LatestModern, []string{"-role", "sdk", "-delay", "8s"}},
		{"legacy alone after 3s", mcp.LatestLegacy, []string{"-era", "legacy", "-delay", "3s"}},
		{"modern alone after 3s", mcp.LatestModern, []string{"-era", "modern", "-delay", "3s"}},
		{"modern alone, answers late", mcp.LatestModern, []string{"-role", "hostile", "-mode", "late-discover"}},
		{"ends when asked", mcp.LatestLegacy, []string{"-role", "hostile", "-mode", "exit-discover"}},
		{"never answers what it does not know", mcp.LatestLegacy, []string{"-role", "hostile", "-mode", "hang-discover"}},
	} {
		for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
			s := start{name: c.name + ", " + era.String() + " client", speaks: c.speaks, client: clientOf(era)}
			if era == mcp.Legacy && !strings.HasPrefix(c.name, "modern alone") {
				s.speaks = mcp.LatestLegacy
			}
			s.memory, s.entry = memory.Open(""), fake(t, "a", c.args...)
			s.world = greeted(t, s.client, s.memory, s.entry)
			starts = append(starts, s)
		}
	}
	for _, s := range starts {
		t.Run("true/1 "+s.name, func(t *testing.T) {
			s.t = t
			s.state("a", upstream.Ready)
			s.echoAs(s.client, "a")
			if speaks := s.up("a").Protocol(); speaks != s.speaks {
				t.Errorf("it speaks %s, not %s", speaks, s.speaks)
			}
		})
	}
	silent := starts[len(starts)-1]
	t.Run("true/1 what a silent server taught is remembered", func(t *testing.T) {
		w := greeted(t, silent.client, silent.memory, silent.entry)
		w.wait = 8 * time.Second // less than the first probe took
		w.state("a", upstream.Ready)
		w.echoAs(silent.client, "a")
	})
}

// Over HTTP a slow server is reached in its era: only the first probe has a short
// timeout.
func TestErasOverHTTP(t *testing.T) {
	slow := func(http.ResponseWriter, *http.Request, string, int) bool {
		pass(5 * time.Second)
		return false
	}
	for _, modern := range []bool{false, true} {
		for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
			y := newToy()
			y.modern, y.bend = modern, slow
			name := fmt.Sprintf("true/1 modern %v, after 5s, %s client on stdio", modern, era)
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := upstream.NewGreeting("local")
					w := newWorld(t, worldOptions{greeting: g, transport: toWire(y)}, remote("a", "http://a.test/mcp"))
					w.wait = time.Minute
					pass(3 * time.Second) // a slow client
					g.Set(clientOf(era))
					w.state("a", upstream.Ready)
					w.echoAs(clientOf(era), "a")
				})
			})
		}
	}
}

// Over HTTP a server that lists only a modern version is greeted in the legacy era
// once, after it has answered in the modern one, and a late answer counts. What it
// answers is remembered.
func TestModernListOverHTTP(t *testing.T) {
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprintf("true/1 both eras %v", both), func(t *testing.T) {
			y := newToy()
			y.modern, y.both = true, both
			y.bend = func(_ http.ResponseWriter, _ *http.Request, method string, _ int) bool {
				if method == mcp.MethodInitialize {
					pass(5 * time.Second)
				}
				return false
			}
			want := map[bool]string{false: "modern", true: "legacy"}[both]
			synctest.Test(t, func(t *testing.T) {
				m := memory.Open("")
				for range 2 {
					w := newWorld(t, worldOptions{memory: m, transport: toWire(y)}, remote("a", "http://a.test/mcp"))
					w.wait = time.Minute
					if s := w.state("a", upstream.Ready); s.Era != want {
						t.Errorf("it is spoken to in the %s era", s.Era)
					}
					w.set.Close(t.Context())
				}
				if seen := y.asked(); !both && seen[mcp.MethodInitialize] != 1 || seen[mcp.MethodDiscover] != map[bool]int{false: 2, true: 1}[both] {
					t.Errorf("asked %v", seen)
				}
			})
		})
	}
}

// A server with a legacy connection that answers server/discover late speaks both
// eras. No call waits for that answer.
func TestLateDiscover(t *testing.T) {
	t.Run("true/1 late answer to the probe", func(t *testing.T) {
		y := newToy()
		y.modern, y.both = true, true
		y.bend = func(_ http.ResponseWriter, _ *http.Request, method string, _ int) bool {
			if method == mcp.MethodDiscover {
				pass(5 * time.Second)
			}
			return false
		}
		synctest.Test(t, func(t *testing.T) {
			m := memory.Open("")
			w := newWorld(t, worldOptions{memory: m, transport: toWire(y)}, remote("a", "http://a.test/mcp"))
			w.wait = time.Minute
			w.state("a", upstream.Ready)
			before := time.Now()
			w.echoAs(clientOf(mcp.Modern), "a")
			if took := time.Since(before); took > 3*time.Second {
				t.Errorf("the call waited %v", took)
			}
			pass(5 * time.Second)
			w.echoAs(clientOf(mcp.Modern), "a")
			if modern := y.asked()[mcp.MethodDiscover]; modern < 3 {
				t.Errorf("no modern connection was opened: %d times asked", modern)
			}
		})
	})
}

// A server over HTTP that is replaced by a modern one refuses the version of the
// connection. Clients of both eras reach the new one.
func TestReplacedByModern(t *testing.T) {
	y := newToy()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, worldOptions{memory: memory.Open(""), transport: toWire(y)}, remote("a", "http://a.test/mcp"))
		w.wait = time.Minute
		w.state("a", upstream.Ready)
		w.echoAs(clientOf(mcp.Legacy), "a")
		y.mu.Lock()
		y.modern = true
		y.bend = func(w http.ResponseWriter, r *http.Request, _ string, _ int) bool {
			if r.Header.Get("MCP-Protocol-Version") == mcp.LatestModern {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2025-06-18"}}}`)
			return true
		}
		y.mu.Unlock()
		for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
			w.echoAs(clientOf(era), "a")
		}
	})
}

// echoAs calls echo like a client of the caller's era.
func (w *world) echoAs(c *upstream.Caller, name string) {
	w.t.Helper()
	text, err := w.ask(c, nil, name, "echo", `{"message":"hi"}`)
	if err != nil || text != "hi" {
		w.t.Errorf("echo: %q, %v", text, err)
	}
}

// ask calls a tool like a client of the caller's era, and returns its text. back
// answers the server's questions meanwhile.
func (w *world) ask(c *upstream.Caller, back jsonrpc.Handler, name, tool, arguments string) (string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), w.wait)
	defer cancel()
	params := fmt.Appendf(nil, `{"name":%q,"arguments":%s}`, tool, arguments)
	if c.Era == mcp.Modern {
		params = jsonrpc.Set(params, fmt.Appendf(nil, `{%q:%q,%q:%s,%q:{"name":"test","version":"1"}}`, mcp.MetaVersion, mcp.LatestModern,
			mcp.MetaCapabilities, c.Offer.JSON(mcp.Rules(mcp.LatestModern), false), mcp.MetaClientInfo), "_meta")
	}
	resp, err := w.up(name).Call(ctx, c, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: params, Back: back})
	if err != nil {
		return "", err
	}
	if resp.Err != nil {
		return "", resp.Err
	}
	defer resp.Release()
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(resp.Result, &result); err != nil || len(result.Content) == 0 {
		return string(resp.Result), err
	}
	return result.Content[0].Text, nil
}
