package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

// full runs a command whose output is a full disk.
func (h *gatewayHome) full(args ...string) (stderr string, code int) {
	h.t.Helper()
	disk, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.onto(disk, args...)
}

// unread runs a command whose output nobody reads.
func (h *gatewayHome) unread(args ...string) (stderr string, code int) {
	h.t.Helper()
	ours, theirs, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	ours.Close()
	return h.onto(theirs, args...)
}

func (h *gatewayHome) onto(out *os.File, args ...string) (stderr string, code int) {
	h.t.Helper()
	defer out.Close()
	ctx, cancel := context.WithTimeout(h.t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.program, append(args, "-c", h.config)...)
	var errs bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = append(os.Environ(), h.env...), h.dir, out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	return errs.String(), cmd.ProcessState.ExitCode()
}

// TestFullDisk runs commands whose output cannot be written. Each of them says
// so and fails.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	h := newGatewayHome(t, `{"mcpServers": {}}`)
	tests := must.Write(t, filepath.Join(h.dir, "tests.yaml"), "target: demo\ntests:\n  - call: add\n    args: {a: 1, b: 2}\n")
	for _, line := range []string{
		"version", "config show", "export json", "cost", "list", "inspect demo --json", "call demo add a=1 b=2", "history", "test --json " + tests, "help", "completion bash",
	} {
		t.Run(line, func(t *testing.T) {
			errs, code := h.full(strings.Fields(line)...)
			if code != 1 || !strings.Contains(errs, "error[AIO4007]: writing standard output: no space left on device") && !strings.Contains(errs, `"message":"writing standard output: no space left on device"`) {
				t.Errorf("exit code %d, says\n%s", code, errs)
			}
		})
	}
	for _, line := range []string{"call demo add a=1 b=2 --trace /dev/full", "test --report /dev/full " + tests, "test --junit /dev/full " + tests} {
		t.Run(line, func(t *testing.T) {
			if _, errs, code := h.run(nil, append(strings.Fields(line), "-c", h.config)...); code != 1 || strings.Count(errs, "/dev/full: no space left on device") != 1 {
				t.Errorf("exit code %d, says\n%s", code, errs)
			}
		})
	}
}

// TestFullDiskFollow follows the traffic onto a full disk, which ends it. The
// gateway, whose own output nobody takes, goes on.
func TestFullDiskFollow(t *testing.T) {
	t.Parallel()
	h := newGatewayHome(t, `{"mcpServers": {}}`)
	h.start()
	h.run(nil, "call", "demo", "add", "a=1", "b=2", "-c", h.config)
	if errs, code := h.full("traffic", "-f"); code != 1 || !strings.Contains(errs, "error[AIO4007]: writing standard output: no space left on device") {
		t.Errorf("exit code %d, says\n%s", code, errs)
	}
}

// TestKeyNobodySaw creates keys that cannot be shown: they are not valid, and no
// client is asked for one.
func TestKeyNobodySaw(t *testing.T) {
	t.Parallel()
	h := newGatewayHome(t, `{"mcpServers": {}}`)
	errs, code := h.full("key", "create", "once")
	if code != 1 || !strings.Contains(errs, "error[AIO4007]: the key once could not be shown, and was revoked: writing standard output: no space left on device") {
		t.Errorf("exit code %d, says\n%s", code, errs)
	}
	if errs, code := h.unread("key", "create", "gone"); code != 141 || errs != "" {
		t.Errorf("exit code %d where nobody reads, says\n%s", code, errs)
	}
	list, _, _ := h.run(nil, "key", "ls", "-c", h.config)
	if strings.Count(list, "\trevoked\t") != 2 {
		t.Errorf("the keys are\n%s", list)
	}
	if data, err := os.ReadFile(h.config); err != nil || strings.Contains(string(data), "keys") {
		t.Errorf("the file is %s, %v", data, err)
	}
}

// TestNobodyReads lists onto a pipe that nobody reads. The command ends its
// session with the gateway before it ends itself.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	h := newGatewayHome(t, `{"mcpServers": {}}`)
	h.start()
	for _, args := range [][]string{{"list", "tools", "."}, {"call", "demo", "add", "a=1", "b=2"}} {
		if errs, code := h.unread(args...); code != 141 || strings.Contains(errs, "error") {
			t.Errorf("%v: exit code %d, says\n%s", args, code, errs)
		}
	}
	if clients, errs, code := h.run(nil, "list", "clients", "--json", "-c", h.config); code != 0 || strings.TrimSpace(clients) != "[]" {
		t.Errorf("exit code %d, still connected: %s%s", code, clients, errs)
	}
}

// TestUnreadServer closes the pipe that a server writes to, while the pipe that
// it reads from stays open. The server ends without waiting for a message.
func TestUnreadServer(t *testing.T) {
	t.Parallel()
	h := newGatewayHome(t, `{"mcpServers": {}}`)
	recording := filepath.Join(h.dir, "recording.jsonl")
	if _, text, code := h.run(nil, "list", "tools", "--trace", recording, "--", h.program, "demo"); code != 0 {
		t.Fatal(text)
	}
	for _, line := range []string{"demo", "stdio -c " + h.config, "mock " + recording} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, h.program, strings.Fields(line)...)
			cmd.Env, cmd.Dir = append(os.Environ(), h.env...), h.dir
			var errs bytes.Buffer
			cmd.Stderr = &errs
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			must.OK(t, cmd.Start())
			io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
			if answer, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatalf("the answer is %q: %v", answer, err)
			}
			out.Close()
			if err := cmd.Wait(); err != nil || strings.Contains(errs.String(), "error") {
				t.Errorf("it ended with %v: %s", err, errs.String())
			}
		})
	}
}
