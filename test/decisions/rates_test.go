package decisions

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
)

// keySlow has its own rate limit.
const keySlow = "slow"

// TestRatesBelongToPrincipals checks that rate limits apply to a principal
// across its sessions and doors, that the server gets no call beyond them, and
// that a reload does not reset them.
func TestRatesBelongToPrincipals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil, keyAdmin: {"admin"}, keySlow: {"calls:1"}})
	w.start(map[string]any{
		"limits":     map[string]any{"callsPerMinute": 3},
		"mcpServers": map[string]any{server: w.entry(server, nil), "other": w.entry("other", map[string]any{"callsPerMinute": 1})},
	})
	call := func(as, server string, e era) answer {
		return callTool(w.streamable("/mcp", as, e), server+"__"+tool)(hello)
	}
	t.Run("door/rate by key", func(t *testing.T) {
		for i := range 5 { // each in a new session
			want := map[bool]string{true: let, false: string(mcp.RateLimited)}[i < 3]
			if a := call(keyAnn, server, era(i%2)); a.reason != want {
				t.Errorf("call %d of ann: %v", i+1, a)
			}
		}
		if n := w.heard(mcp.MethodToolsCall); n != 3 {
			t.Errorf("the server heard %d calls", n)
		}
		if a := call(keyBob, server, legacy); a.reason != let {
			t.Errorf("another key: %v", a)
		}
	})
	t.Run("door/rate of a key of its own", func(t *testing.T) {
		call(keySlow, server, legacy)
		if a := call(keySlow, server, modern); a.reason != string(mcp.RateLimited) || !strings.Contains(a.raw, "1 call a minute") {
			t.Errorf("the second call: %v", a)
		}
	})
	t.Run("door/rate by server", func(t *testing.T) {
		call(keyBob, "other", legacy)
		if a := call(keyBob, "other", modern); a.reason != string(mcp.RateLimited) || !strings.Contains(a.raw, `server \"other\" takes 1 call`) {
			t.Errorf("the second call: %v", a)
		}
		if a := call(keyBob, server, modern); a.reason != let {
			t.Errorf("of another server: %v", a)
		}
	})
	t.Run("door/rate says when to come back", func(t *testing.T) {
		a := call(keyAnn, server, legacy)
		said := again.FindStringSubmatch(a.raw)
		if said == nil || !strings.Contains(a.raw, `"retryAfterSeconds":`+said[1]) || !strings.Contains(a.raw, `"retryable":true`) {
			t.Errorf("told %v", a)
		}
	})
	t.Run("door/rate outlives a reload", func(t *testing.T) {
		w.settings["startWait"] = "3s"
		w.reload()
		if a := call(keyAnn, server, legacy); a.reason != string(mcp.RateLimited) {
			t.Errorf("after a reload: %v", a)
		}
	})
	t.Run("door/rate is counted", func(t *testing.T) {
		if _, _, body := w.do(http.MethodGet, "/metrics", keyAdmin, nil, nil); !strings.Contains(string(body), `mcp_gateway_limit_hits_total{limit="callsPerMinute"}`) ||
			strings.Contains(string(body), `mcp_gateway_limit_hits_total{limit="callsPerMinute"} 0`) {
			t.Error("no figure tells of it")
		}
	})
}

// TestSameCallIsStopped checks that a call that is repeated without progress is
// refused, and that the model is told why.
func TestSameCallIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]string{keyAnn: nil, keyBob: nil, keyAdmin: {"admin"}})
	w.start(map[string]any{
		"limits":     map[string]any{"sameCall": 3},
		"mcpServers": map[string]any{server: w.entry(server, nil), "other": w.entry("other", nil)},
	})
	s := w.streamable("/mcp", keyAnn, legacy)
	same, other := callTool(s, server+"__"+tool), callTool(s, server+"__look")
	t.Run("door/repeat", func(t *testing.T) {
		for i := range 5 {
			a := same(hello)
			if want := map[bool]string{true: let, false: string(mcp.RepeatedCall)}[i < 3]; a.reason != want {
				t.Errorf("call %d: %v", i+1, a)
			}
			if i >= 3 && !strings.Contains(a.raw, "3 times in a row") {
				t.Errorf("told %v", a)
			}
		}
		if n := w.heard(mcp.MethodToolsCall); n != 3 {
			t.Errorf("the server heard %d calls", n)
		}
	})
	t.Run("door/repeat ends with another call", func(t *testing.T) {
		if a := other(hello); a.reason != let {
			t.Fatalf("another call: %v", a)
		}
		if a := same(hello); a.reason != let {
			t.Errorf("afterwards: %v", a)
		}
	})
	t.Run("door/repeat with other arguments", func(t *testing.T) {
		for i := range 6 {
			if a := same(target{arguments: map[string]any{"text": fmt.Sprint(i)}}); a.reason != let {
				t.Errorf("call %d: %v", i+1, a)
			}
		}
	})
}
