//go:build unix

package cli_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestStoppedGateway checks that commands work while a gateway does not answer.
func TestStoppedGateway(t *testing.T) {
	t.Parallel()
	h := newGatewayHome(t, `{"mcpServers": {}}`)
	h.run(nil, "key", "create", "a", "-c", h.config)
	p := h.start()
	must.OK(t, syscall.Kill(p.PID(), syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(p.PID(), syscall.SIGCONT) })
	for _, test := range []struct {
		want string
		args []string
	}{
		{fmt.Sprintf("the gateway with process ID %d does not answer", p.PID()), []string{"status", "-c", h.config}},
		{"a running gateway could not be notified", []string{"key", "revoke", "a", "-c", h.config}},
	} {
		t.Run(test.args[0], func(t *testing.T) {
			begin := time.Now()
			_, errs, code := h.run(nil, test.args...)
			if code != 0 || !strings.Contains(errs, test.want) {
				t.Errorf("exit code %d, says %q", code, errs)
			}
			if took := time.Since(begin); took > 20*time.Second { // it would be 30 s with the timeout of an answer
				t.Errorf("it took %v", took)
			}
		})
	}
}
