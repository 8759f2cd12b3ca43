package entry

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/traffic"
)

// TestVerdict checks that the verdict on a server's result is reused for the
// result to the client only if both are the same.
func TestVerdict(t *testing.T) {
	text := strings.Repeat("x", 2*large)
	well := &jsonrpc.Response{Result: []byte(`{"content":[{"type":"text","text":"` + text + `"}],"isError":false}`)}
	bad := &jsonrpc.Response{Result: []byte(`{"content":[{"type":"text","text":"` + text + `"}],"isError": true}`)}
	small := &jsonrpc.Response{Result: []byte(`{"content":[],"isError":true}`)}
	refused := &jsonrpc.Response{Err: jsonrpc.Errorf(jsonrpc.CodeInternal, "no")}
	want := map[*jsonrpc.Response]string{well: traffic.StatusOK, bad: traffic.StatusToolError, small: traffic.StatusToolError, refused: traffic.StatusError}
	for first := range want {
		for second := range want {
			var v Verdict
			for i, o := range []func() (traffic.Outcome, []byte){
				func() (traffic.Outcome, []byte) { return v.OfRequest(t.Context(), second, nil) },
				func() (traffic.Outcome, []byte) { return v.Outcome(t.Context(), first, nil) },
				func() (traffic.Outcome, []byte) { return v.OfRequest(t.Context(), second, nil) },
			} {
				resp := []*jsonrpc.Response{second, first, second}[i]
				if got, body := o(); got.Status != want[resp] || resp.Err == nil && string(body) != string(resp.Result) {
					t.Errorf("%d: %v of %.60s", i, got.Status, resp.Result)
				}
			}
		}
	}
	var v Verdict
	if o, _ := v.OfRequest(t.Context(), nil, jsonrpc.ErrClosed); o.Status != traffic.StatusError {
		t.Error(o)
	}
}
