package gateway

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/script"
	"mcp-all-in-one/internal/stdio"
)

// TestQuestionOfScriptExpires checks that a script ends, with its process, if
// its question is not answered in time, and that a client that returns later
// gets that error.
func TestQuestionOfScriptExpires(t *testing.T) {
	t.Run("code/question expires", func(t *testing.T) {
		handler, done := mcpserver.Demo().HTTP("")
		demo := httptest.NewServer(handler)
		t.Cleanup(func() { demo.Close(); done() })
		g := newGateway(t, map[string]string{"demo": demo.URL + "/mcp"}, func(c *config.Config) { c.Schemas[0].Mode = "code" })
		exe := mcptest.BuildProduct(t)
		launcher := stdio.NewLauncher(stdio.LauncherOptions{Exe: exe})
		g.opt.Scripts = script.NewRunner(launcher, exe)
		t.Cleanup(func() { g.opt.Scripts.Close(); launcher.Close() })
		g.parks.TTL = 50 * time.Millisecond
		s := opened(t, g, Opening{Who: access.Anonymous, Schema: config.DefaultSchema, Client: nobody{}})
		const params = `{"name":"run","arguments":{"code":"await tools.demo.ask_name({}); return 1"},"_meta":{"` + mcp.MetaVersion + `":"` + mcp.V2026_07_28 + `","` +
			mcp.MetaCapabilities + `":{"elicitation":{}},"` + mcp.MetaClientInfo + `":{"name":"t","version":"1"}}}`
		asked := ask(t, s, mcp.MethodToolsCall, params)
		state := jsonrpc.Get([]byte(asked), "requestState")
		if state == nil {
			t.Fatalf("nothing is asked: %s", asked)
		}
		must.Await(t, "the end of the script", func() bool { return g.scripts.Running() == 0 })
		again := jsonrpc.Set([]byte(params), state, "requestState")
		again = jsonrpc.Set(again, []byte(`{}`), "inputResponses")
		resp, err := s.Handle(t.Context(), nobody{}, &jsonrpc.Request{Method: mcp.MethodToolsCall, Params: again})
		if err == nil || !strings.Contains(err.Error(), "requestState is not valid any more") {
			t.Errorf("it is %v, %v", resp, err)
		}
	})
}
