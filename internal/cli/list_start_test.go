package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

// The list of a stdio gateway whose server starts slowly is complete, in either
// era.
func TestListWaitsForServersThatStart(t *testing.T) {
	t.Parallel()
	config := mcptest.WriteConfig(t, fmt.Sprintf(
		`{"startWait":"1s","mcpServers":{"m":{"command":%q,"args":["-role","sdk","-delay","3s"]}}}`, mcptest.Build(t)))
	product := mcptest.BuildProduct(t)
	for _, era := range []string{"legacy", "modern"} {
		t.Run("true/1 "+era, func(t *testing.T) {
			t.Parallel()
			p := mcptest.Start(t, mcptest.Product(t, "list", "tools", "--protocol", era, "--", product, "stdio", "-c", config))
			if code := p.Wait(20 * time.Second); code != 0 || !strings.Contains(p.Stdout(), "m__echo") {
				t.Errorf("exit %d\n%s\n%s", code, p.Stdout(), p.Stderr())
			}
		})
	}
}
