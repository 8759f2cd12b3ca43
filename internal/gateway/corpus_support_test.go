package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
)

// pieces is a message of testdata/corpus/J, written as a string or as a list
// of parts.
type pieces string

func (p *pieces) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		list = []json.RawMessage{data}
	}
	var b strings.Builder
	for _, raw := range list {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			b.WriteString(text)
			continue
		}
		var part struct {
			Base64 []byte
			Repeat string
			Count  int
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return err
		}
		b.Write(part.Base64)
		before, after, numbered := strings.Cut(part.Repeat, "{n}")
		if !numbered {
			b.WriteString(strings.Repeat(part.Repeat, part.Count))
			continue
		}
		for i := range part.Count {
			b.WriteString(before)
			b.WriteString(strconv.Itoa(i))
			b.WriteString(after)
		}
	}
	*p = pieces(b.String())
	return nil
}

// A rig is the product under test, with one client on stdio and one over HTTP.
// Their sessions stay open for all rows.
type rig struct {
	config  string
	stdio   *mcptest.RawStdio
	gateway *mcptest.Process
	http    *mcptest.RawHTTP // a session of the newest legacy version
	batches *mcptest.RawHTTP // a session of a version with batches
	echoes  int
}

func newRig(t *testing.T, config string) *rig {
	t.Helper()
	r := &rig{config: config, stdio: mcptest.GatewayStdio(t, config), gateway: mcptest.Gateway(t, config)}
	if m := r.stdio.Initialize(mcp.LatestLegacy, `{}`); m.Error != nil {
		t.Fatal(m.Raw)
	}
	r.http = mcptest.NewRawHTTP(t, r.gateway.URL+"/mcp")
	r.http.Initialize(mcp.LatestLegacy, `{}`)
	r.batches = mcptest.NewRawHTTP(t, r.gateway.URL+"/mcp")
	r.batches.Initialize(mcp.V2025_03_26, `{}`)
	r.stdio.Ask(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	r.http.Post(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	return r
}

// oneSecond is the time limit of an echo after any message.
const oneSecond = time.Second

// alive checks that both sessions answer an echo. It tries twice, because the
// machine may be busy.
func (r *rig) alive(t *testing.T, tool, member string) {
	t.Helper()
	for _, front := range []string{"stdio", "http"} {
		for try := 0; ; try++ {
			r.echoes++
			text := fmt.Sprintf("alive-%d", r.echoes)
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":"echo-%d","method":"tools/call","params":{"name":%q,"arguments":{%q:%q}}}`, r.echoes, tool, member, text)
			begun := time.Now()
			var m mcptest.Message
			if front == "stdio" {
				m = r.stdio.Ask(line)
			} else {
				m = r.http.Post(line).Answer(t)
			}
			if m.Error != nil || !strings.Contains(string(m.Result), text) {
				t.Fatalf("afterwards the session over %s answers %s", front, m.Raw)
			}
			took := time.Since(begun)
			if took <= oneSecond {
				break
			}
			if try > 0 {
				t.Errorf("afterwards an echo over %s took %v", front, took)
				break
			}
		}
	}
}

// post sends a body with extra headers.
func (r *rig) post(t *testing.T, body string, header map[string]string) *mcptest.Reply {
	t.Helper()
	c := mcptest.NewRawHTTP(t, r.http.URL)
	for name, value := range header {
		c.Header.Set(name, value)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	reply, err := c.Try(ctx, http.MethodPost, body)
	if err != nil {
		t.Fatalf("posting: %v", err)
	}
	return reply
}

// modernHeader returns the headers of a modern request.
func modernHeader(version, method string, params json.RawMessage) map[string]string {
	header := map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method}
	var p struct {
		Name, URI, TaskID any
	}
	if json.Unmarshal(params, &p) == nil {
		for _, v := range []any{p.Name, p.URI, p.TaskID} {
			if s, ok := v.(string); ok {
				header["Mcp-Name"] = s
			}
		}
	}
	return header
}

// withMeta adds the _meta of every modern request.
func withMeta(t *testing.T, params json.RawMessage, capabilities string) json.RawMessage {
	t.Helper()
	p := map[string]any{}
	if len(params) > 0 {
		must.Parse(t, params, &p)
	}
	meta, _ := p["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta[mcp.MetaVersion] = mcp.LatestModern
	meta[mcp.MetaCapabilities] = json.RawMessage(capabilities)
	p["_meta"] = meta
	return must.JSON(t, p)
}
