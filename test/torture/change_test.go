package torture

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/random"
	"mcp-all-in-one/test/figures"
)

// TestReload changes the file all the time and checks that unchanged servers
// are not affected.
func TestReload(t *testing.T) {
	t.Run("fault/T17", func(t *testing.T) {
		fake := mcptest.Build(t)
		stable := hostiles(t, 2, "")
		inner := strings.TrimSuffix(strings.TrimPrefix(stable.config, `{"mcpServers":{`), `}}`)
		path := mcptest.WriteConfig(t, stable.config)
		home := t.TempDir()
		gateway := mcptest.Start(t, mcptest.Program{
			Path: mcptest.BuildProduct(t), Args: []string{"http", "--mcp-config", path, "--port", "0", "--watch"},
			Env: []string{"HOME=" + home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME="},
		})
		gateway.Listening()
		ready(t, gateway)
		pids := map[string]int{}
		for _, s := range servers(t, gateway) {
			pids[s.Name] = s.PID
		}
		edits, broken := 0, 0
		rng := random.New(t)
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(done)
			tick := time.NewTicker(300 * time.Millisecond)
			defer tick.Stop()
			for i := range figures.Size(8, 500) {
				<-tick.C
				text := fmt.Sprintf(`{"mcpServers":{%s,"x%d":{"command":%q,"args":["-role","time"],"enabled":%v}}}`, inner, rng.IntN(5), fake, rng.IntN(3) > 0)
				if i%10 == 4 {
					text = text[:rng.IntN(len(text))]
					broken++
				}
				edits++
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Error(err)
					return
				}
			}
		})
		ok, failed := 0, 0
		for round := 0; ; round++ {
			out := mcptest.Load{URL: gateway.URL + "/mcp", Clients: 16, Calls: figures.Size(50, 500), Tools: stable.tools("echo")}.Run(t)
			ok += out.OK
			failed += 16*figures.Size(50, 500) - out.OK
			select {
			case <-done:
			default:
				continue
			}
			break
		}
		wg.Wait()
		if failed > 0 {
			t.Errorf("%d of %d calls to unchanged servers failed", failed, ok+failed)
		}
		os.WriteFile(path, []byte(stable.config), 0o600)
		eventually(t, "the first file again", patience, func() bool { return len(servers(t, gateway)) == 2 })
		for _, s := range servers(t, gateway) {
			if s.PID != pids[s.Name] {
				t.Errorf("%s has another process", s.Name)
			}
		}
		healthy(t, gateway)
		figures.Report(t, "T17", "%d edits of the file, %d of them broken: %d calls to unchanged servers, 0 failed, their processes the same", edits, broken, ok)
	})
}
