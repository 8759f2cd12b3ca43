// Package matrix connects every client version to every server version, over
// stdio and HTTP on either side, with a question, progress and a cancellation
// in each cell.
package matrix

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
)

var transports = []string{"stdio", "http"}

// TestMatrix runs the diagonal: equal versions and the two corners, where the
// eras differ most. MATRIX=full runs every cell.
func TestMatrix(t *testing.T) {
	dates := mcp.AllVersions()
	slices.Reverse(dates)
	every := func(string, string) bool { return true }
	eachServer(t, every, func(t *testing.T, server, config, url string) {
		for _, date := range dates {
			if !full() && !onDiagonal(date, server, dates) {
				continue
			}
			for _, front := range transports {
				t.Run(fmt.Sprintf("client %s over %s", date, front), func(t *testing.T) {
					cell(t, newClient(t, date, front, url, config), server)
				})
			}
		}
	})
}

// eachServer runs a gateway in front of our own server of each version, over
// each transport, if wanted returns true.
func eachServer(t *testing.T, wanted func(server, back string) bool, run func(t *testing.T, server, config, url string)) {
	for _, server := range mcp.AllVersions() {
		for _, back := range transports {
			if !wanted(server, back) {
				continue
			}
			t.Run(fmt.Sprintf("server %s over %s", server, back), func(t *testing.T) {
				t.Parallel()
				config := upstream(t, server, back)
				run(t, server, config, mcptest.Gateway(t, config, "--log-level", "debug").URL+"/mcp")
			})
		}
	}
}

func onDiagonal(client, server string, dates []string) bool {
	first, last := dates[0], dates[len(dates)-1]
	return client == server || client == first && server == last || client == last && server == first
}

// upstream returns a config with one server that speaks one version.
func upstream(t *testing.T, version, transport string) string {
	fake := mcptest.Build(t)
	if transport == "stdio" {
		return fmt.Sprintf(`{"mcpServers":{"demo":{"command":%q,"args":["-era",%q]}}}`, fake, version)
	}
	p := mcptest.Start(t, mcptest.Program{Path: fake, Args: []string{"-era", version, "-http", "127.0.0.1:0"}})
	return fmt.Sprintf(`{"mcpServers":{"demo":{"url":%q}}}`, p.Listening()+"/mcp")
}

// cell tests what must work in every pairing.
func cell(t *testing.T, c *client, server string) {
	c.open()
	list := c.begin(mcp.MethodToolsList, `{}`).answer()
	if !strings.Contains(list.Raw, "demo__echo") {
		t.Fatalf("tools/list: %.300s", list.Raw)
	}
	if modern := strings.Contains(list.Raw, `"resultType"`); modern != (c.version.Era == mcp.Modern) {
		t.Errorf("resultType in a list for %s: %v", c.version.Date, modern)
	}
	want(t, c.call("demo__echo", `{"message":"hello"}`, "", ""), "hello")
	question(t, c, server)
	progress(t, c)
	cancel(t, c)
	want(t, c.call("demo__echo", `{"message":"still here"}`, "", ""), "still here")
}

// question asks by elicitation if both versions have it, else by sampling.
func question(t *testing.T, c *client, server string) {
	if c.version.Elicitation && mcp.Rules(server).Elicitation {
		want(t, c.call("demo__ask_name", `{}`, mcp.MethodElicit, `{"action":"accept","content":{"name":"Ada"}}`), "Ada")
		return
	}
	want(t, c.call("demo__ask_model", `{"prompt":"2+2"}`, mcp.MethodSampling,
		`{"role":"assistant","content":{"type":"text","text":"four"},"model":"m","stopReason":"endTurn"}`), "four")
}

func progress(t *testing.T, c *client) {
	f := c.begin(mcp.MethodToolsCall, `{"name":"demo__long_task","arguments":{"seconds":0.05,"steps":3},"_meta":{"progressToken":"tok"}}`)
	m := f.next("progress", func(m *mcptest.Message) bool { return m.Method == mcp.NotificationProgress })
	var p struct{ ProgressToken json.RawMessage }
	if err := json.Unmarshal(m.Params, &p); err != nil || string(p.ProgressToken) != `"tok"` {
		t.Errorf("progress came with another token: %s", m.Raw)
	}
	want(t, f.answer(), "done after 3 steps")
}

// cancel cancels a call that would take a minute, and checks that the
// connection stays open.
func cancel(t *testing.T, c *client) {
	f := c.begin(mcp.MethodToolsCall, `{"name":"demo__long_task","arguments":{"seconds":60,"steps":600},"_meta":{"progressToken":"c"}}`)
	f.next("progress", func(m *mcptest.Message) bool { return m.Method == mcp.NotificationProgress })
	if c.version.Era == mcp.Modern && c.stdio == nil {
		f.stop()
		return
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"enough"}}`, f.id))
}

func want(t *testing.T, m mcptest.Message, text string) {
	t.Helper()
	if m.Error != nil || !strings.Contains(string(m.Result), text) {
		t.Fatalf("want %q in %s", text, m.Raw)
	}
}
