package upstream_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upstream"
)

// bent is a small server of one era whose results of calls are not objects.
type bent struct {
	modern bool
	result string
}

// answer returns the answer to a request; empty for a notification.
func (b bent) answer(message []byte) string {
	id, method := jsonrpc.Get(message, "id"), ""
	if method, _ = jsonrpc.GetString(message, "method"); id == nil {
		return ""
	}
	result, info := `{}`, `"capabilities":{"tools":{}},"serverInfo":{"name":"bent","version":"1"}`
	switch {
	case method == mcp.MethodDiscover && b.modern:
		result = `{"resultType":"complete","supportedVersions":["` + mcp.LatestModern + `"],` + info + `}`
	case method == mcp.MethodDiscover, method == mcp.MethodInitialize && b.modern:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, id)
	case method == mcp.MethodInitialize:
		result = `{"protocolVersion":"` + mcp.LatestLegacy + `",` + info + `}`
	case method == mcp.MethodToolsList:
		result = `{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	case method == mcp.MethodToolsCall, method == mcp.MethodSubscribe:
		result = b.result
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// serve serves b over HTTP. With stream set, calls are answered with an event
// stream.
func (b bent) serve(t *testing.T, stream bool) *config.Server {
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if answer := b.answer(body); err == nil && answer != "" {
			if stream {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: %s\n\n", answer)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, answer)
			return
		}
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(host.Close)
	return remote("a", host.URL)
}

// process returns b as a program on stdio: a shell that has the answers.
func (b bent) process(t *testing.T) *config.Server {
	var script strings.Builder
	script.WriteString("while read -r line; do\nid=${line#*'\"id\":'}; id=${id%%[,\\}]*}\ncase $line in\n")
	for _, method := range []string{mcp.MethodDiscover, mcp.MethodInitialize, mcp.MethodToolsList, mcp.MethodToolsCall, mcp.MethodSubscribe, mcp.MethodPing} {
		answer := b.answer([]byte(`{"id":"ID","method":"` + method + `"}`))
		fmt.Fprintf(&script, "*'\"%s\"'*) printf '%%s%%s%%s\\n' '%s' \"$id\" '%s' ;;\n", method, answer[:strings.Index(answer, `"ID"`)], answer[strings.Index(answer, `"ID"`)+4:])
	}
	script.WriteString("esac\ndone")
	s := fake(t, "a", "-c", script.String())
	s.Command = "sh"
	return s
}

// TestResultIsAnObject checks that every other result is an error of the server,
// for clients of both eras.
func TestResultIsAnObject(t *testing.T) {
	for _, result := range []string{"null", "[]", `"done"`, "5", "true"} {
		for _, era := range []mcp.Era{mcp.Legacy, mcp.Modern} {
			b := bent{modern: era == mcp.Modern, result: result}
			for way, entry := range map[string]func() *config.Server{
				"JSON": func() *config.Server { return b.serve(t, false) }, "an event stream": func() *config.Server { return b.serve(t, true) },
				"stdio": func() *config.Server { return b.process(t) },
			} {
				t.Run(fmt.Sprintf("door/16 %s over %s from a %s server", result, way, era), func(t *testing.T) {
					w := newWorld(t, worldOptions{}, entry())
					w.state("a", upstream.Ready)
					for _, client := range []mcp.Era{mcp.Legacy, mcp.Modern} {
						if text, reason := w.callAs(t.Context(), clientOf(client), "a", "t", `{}`); reason != string(mcp.UpstreamProtocol) {
							t.Errorf("a %s client: %q, %q", client, text, reason)
						}
					}
					if era == mcp.Legacy {
						_, resp, err := w.up("a").Subscribe(t.Context(), clientOf(mcp.Legacy), "x://y", &heard{})
						if err == nil || reasonOf(err) != string(mcp.UpstreamProtocol) {
							t.Errorf("a subscription: %v, %v", resp, err)
						}
					}
				})
			}
		}
	}
}
