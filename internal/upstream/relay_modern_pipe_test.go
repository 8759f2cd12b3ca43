//go:build linux

package upstream_test

import (
	"errors"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// TestBeginModernPipe is TestBeginModern for servers over stdio, of either era.
func TestBeginModernPipe(t *testing.T) {
	errWhy := errors.New("why")
	meta := `,"_meta":{"` + mcp.MetaVersion + `":"` + mcp.LatestModern + `","` + mcp.MetaCapabilities + `":{"elicitation":{"form":{}}}}`
	for _, era := range []string{"legacy", "modern", "dual"} {
		t.Run(era, func(t *testing.T) {
			w := newWorld(t, worldOptions{limits: func(l *config.Limits) { l.InFlightPerServer = 1 }}, fake(t, "a", "-era", era))
			w.state("a", upstream.Ready)
			u := w.up("a")
			callers := map[string]*upstream.Caller{
				"legacy":       {Session: "1", Version: mcp.LatestLegacy, Offer: mcp.Offer{Elicit: true}},
				"modern":       {Era: mcp.Modern, Version: mcp.LatestModern, Offer: mcp.Offer{Elicit: true}},
				"modern quiet": {Era: mcp.Modern, Version: mcp.LatestModern},
			}
			for name, c := range callers {
				for _, tool := range []string{"echo", "ask_name", "none", "add"} {
					params := `{"name":"` + tool + `","arguments":{"message":"m","a":1,"b":2}`
					if c.Era == mcp.Modern {
						params += meta
					}
					req := &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(params + "}"), Back: yes{make(chan string, 10)}}
					want := outcome(u.Call(lateContext(t.Context()), c, req))
					pipe := u.PipeFor(c)
					if passes := era != "legacy" || name != "modern"; (pipe != nil) != passes {
						t.Errorf("a pipe for %s: %v", name, pipe != nil)
					}
					if pipe == nil {
						continue
					}
					done, turn := make(endings, 1), new(jsonrpc.Turn)
					if !pipe.Begin(lateContext(t.Context()), turn, c, req, done) {
						t.Fatalf("%s did not begin", tool)
					}
					turn.End()
					if got := <-done; stateless(got) != stateless(want) {
						t.Errorf("%s of %s: begun %s, waited for %s", tool, name, got, want)
					}
				}
			}
			// One that is given up leaves its place.
			ctx, done, turn := lateContext(t.Context()), make(endings, 1), new(jsonrpc.Turn)
			c := callers["legacy"]
			if !u.PipeFor(c).Begin(ctx, turn, c, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: []byte(`{"name":"long_task","arguments":{"seconds":60}}`)}, done) {
				t.Fatal("the call did not begin")
			}
			turn.End()
			ctx.End(errWhy)
			if got := <-done; got != errWhy.Error() {
				t.Errorf("ended with %s", got)
			}
			w.echo("a", "again")
		})
	}
}

// stateless is an answer without the state of the server, which is sealed.
func stateless(answer string) string {
	before, _, _ := strings.Cut(answer, `"requestState"`)
	return before
}
