package cli_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestCutShort ends the gateway while a call runs and another one waits for its
// turn: only the one that was never sent may be repeated.
func TestCutShort(t *testing.T) {
	t.Parallel()
	const modern = `"_meta":{"` + mcp.MetaVersion + `":"` + mcp.V2026_07_28 + `","` + mcp.MetaCapabilities + `":{}},`
	const sleep = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s"name":"s__sleep","arguments":{"ms":60000,"token":"t%[1]d"}}}`
	for _, way := range []string{"session", "alone", "modern", "stdio", "stdio, twice", "session, twice"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			way, twice := strings.CutSuffix(way, ", twice")
			drain := "300ms"
			if twice {
				drain = "1h"
			}
			config, journal := cutShortConfig(t, drain)
			meta := ""
			if way == "modern" {
				meta = modern
			}
			answers := make(chan mcptest.Message, 2)
			var gateway *mcptest.Process
			var send func(line string)
			if way == "stdio" {
				client := mcptest.GatewayStdio(t, config)
				client.Initialize(mcp.LatestLegacy, `{}`)
				gateway, send = client.Process, client.Send
			} else {
				gateway = mcptest.Gateway(t, config)
				client := mcptest.NewRawHTTP(t, gateway.URL+"/mcp")
				switch way {
				case "session":
					client.Initialize(mcp.LatestLegacy, `{}`)
				case "modern":
					client.Header.Set("Mcp-Protocol-Version", mcp.V2026_07_28)
					client.Header.Set("Mcp-Method", mcp.MethodToolsCall)
					client.Header.Set("Mcp-Name", "s__sleep")
				}
				send = func(line string) {
					go func() {
						if reply, err := client.Try(t.Context(), http.MethodPost, line); err == nil && len(reply.Messages) > 0 {
							answers <- reply.Messages[len(reply.Messages)-1]
						}
					}()
				}
			}
			send(fmt.Sprintf(sleep, 1, meta))
			waitForNote(t, journal, "t1")
			calls := 1
			if way != "stdio" { // there it cannot be seen whether a call waits
				calls = 2
				send(fmt.Sprintf(sleep, 2, meta))
				waitForQueue(t, gateway)
			}
			gateway.Signal(syscall.SIGTERM)
			if twice {
				gateway.Signal(syscall.SIGINT) // two of a kind can be delivered as one
			}
			for range calls {
				var m mcptest.Message
				if way == "stdio" {
					m = (&mcptest.RawStdio{Process: gateway}).Expect("an answer", func(m *mcptest.Message) bool { return m.Method == "" })
				} else {
					m = must.Receive(t, "the answer", answers)
				}
				want := `{"reason":"cancelled","retryable":false}`
				if string(m.ID) == "2" {
					want = `{"reason":"draining","retryable":true}`
				}
				if m.Error == nil || string(m.Error.Data) != want || strings.Contains(m.Error.Message, "whether the call ran is unknown") != (string(m.ID) == "1") {
					t.Errorf("the answer is %s, want %s", m.Raw, want)
				}
			}
			if mcptest.Journal(t, journal)["t2"] > 0 {
				t.Error("the second call ran")
			}
		})
	}
}

// TestCutShortScript ends the gateway while a script runs: it says which of its
// calls had succeeded, and of which that is unknown.
func TestCutShortScript(t *testing.T) {
	t.Parallel()
	config, journal := cutShortConfig(t, "300ms")
	gateway := mcptest.Gateway(t, config)
	client := mcptest.NewRawHTTP(t, gateway.URL+"/api/small/mcp")
	client.Initialize(mcp.LatestLegacy, `{}`)
	answer := make(chan string, 1)
	go func() {
		reply, err := client.Try(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run","arguments":{"code":"await tools.s.echo({message: 'x'}); await tools.s.sleep({ms: 60000, token: 't1'})"}}}`)
		if err != nil {
			answer <- err.Error()
			return
		}
		answer <- reply.Body
	}()
	waitForNote(t, journal, "t1")
	gateway.Signal(syscall.SIGTERM)
	select {
	case body := <-answer:
		must.Contain(t, body, "the gateway shut down before the script ended", "must not be repeated if they changed something: s.echo", "not known whether they ran: s.sleep")
	case <-time.After(time.Minute):
		t.Fatal("no answer came")
	}
}

// cutShortConfig is a gateway with one server, which runs one call at a time and
// notes each in a journal.
func cutShortConfig(t *testing.T, drain string) (config, journal string) {
	journal = filepath.Join(t.TempDir(), "journal")
	server := fmt.Sprintf(`{"s":{"command":%q,"args":["-role","hostile","-journal",%q]}}`, mcptest.Build(t), journal)
	return fmt.Sprintf(`{"limits":{"drain":%q,"inFlightPerServer":1},"startWait":"1m","mcpServers":%s,"schemas":{"small":{"mode":"search","code":true,"mcpServers":%[2]s}}}`, drain, server), journal
}

// waitForNote waits until a server has begun a call.
func waitForNote(t *testing.T, journal, token string) {
	t.Helper()
	waitFor(t, journal)
	must.Await(t, "the begin of "+token, func() bool { return mcptest.Journal(t, journal)[token] > 0 })
}

// waitForQueue waits until a call waits for its turn.
func waitForQueue(t *testing.T, gateway *mcptest.Process) {
	t.Helper()
	page := mcptest.NewRawHTTP(t, gateway.URL+"/metrics")
	must.Await(t, "a call that waits", func() bool {
		return strings.Contains(page.Do(http.MethodGet, "").Body, `mcp_gateway_server_queued{schema="default",server="s"} 1`)
	})
}
