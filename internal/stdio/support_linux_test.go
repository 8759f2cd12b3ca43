package stdio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/mcptest/must"
)

// deadline is how long any single step of a test may take.
const deadline = 20 * time.Second

func newTestLauncher(t *testing.T) *Launcher {
	t.Helper()
	l := NewLauncher(LauncherOptions{})
	t.Cleanup(func() { l.Close() })
	return l
}

func mustStart(t *testing.T, l *Launcher, cmd Command) *Child {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	c, err := l.Start(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stream().Close() })
	return c
}

func waitDone(t *testing.T, c *Child) ExitStatus {
	t.Helper()
	select {
	case <-c.Done():
		return c.Exit()
	case <-time.After(deadline):
		t.Fatalf("child %s (%d) did not end", c.name, c.pid)
		return ExitStatus{}
	}
}

// readLine reads one message of a child.
func readLine(t *testing.T, c *Child) string {
	t.Helper()
	timer := time.AfterFunc(deadline, c.Kill)
	defer timer.Stop()
	msg, release, err := c.Stream().Read()
	if err != nil {
		t.Fatalf("reading from %s: %v", c.name, err)
	}
	if release != nil {
		defer release()
	}
	return string(msg)
}

// send writes one message to a child.
func send(t *testing.T, c *Child, message string) {
	t.Helper()
	must.OK(t, c.Stream().Write([]byte(message)))
}

// echoes checks that a child answers a message with the same message.
func echoes(t *testing.T, c *Child, message string) {
	t.Helper()
	send(t, c, message)
	if got := readLine(t, c); got != message {
		t.Errorf("%s answered %q to %q", c.name, got, message)
	}
}

// stops stops a child and checks how it ended.
func stops(t *testing.T, c *Child, want string) {
	t.Helper()
	must.OK(t, c.Stop(t.Context()))
	exited(t, c, want)
}

// exited waits for the end of a child and checks how it ended.
func exited(t *testing.T, c *Child, want string) {
	t.Helper()
	if got := waitDone(t, c).String(); got != want {
		t.Errorf("exit = %s, want %s", got, want)
	}
}

// waitGone waits for the exit of a process that is not our child.
func waitGone(t *testing.T, pid int, limit time.Duration) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for end := time.Now().Add(limit); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(time.Until(end).Milliseconds()))
		if err == unix.EINTR {
			continue
		}
		if n == 0 {
			t.Fatalf("process %d still runs after %v", pid, limit)
		}
		return
	}
}

func helperPID(t *testing.T, l *Launcher) int {
	t.Helper()
	l.platform.mu.Lock()
	defer l.platform.mu.Unlock()
	return l.platform.current.cmd.Process.Pid
}

// A roll is a fifo that processes keep open while they live.
type roll struct {
	path  string
	in    *os.File
	keep  *os.File
	lines *bufio.Reader
}

func newRoll(t *testing.T) *roll {
	t.Helper()
	r := &roll{path: filepath.Join(t.TempDir(), "roll")}
	must.OK(t, unix.Mkfifo(r.path, 0o600))
	var err error
	if r.in, err = os.OpenFile(r.path, os.O_RDONLY|unix.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	if r.keep, err = os.OpenFile(r.path, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	r.lines = bufio.NewReader(r.in)
	t.Cleanup(func() { r.in.Close(); r.keep.Close() })
	return r
}

// enrolled waits until n processes have opened the fifo.
func (r *roll) enrolled(t *testing.T, n int) {
	t.Helper()
	_ = r.in.SetReadDeadline(time.Now().Add(deadline))
	for i := range n {
		if _, err := r.lines.ReadString('\n'); err != nil {
			t.Fatalf("waiting for process %d of %d: %v", i+1, n, err)
		}
	}
}

// empty waits until the last of them has exited.
func (r *roll) empty(t *testing.T, limit time.Duration) {
	t.Helper()
	r.keep.Close()
	_ = r.in.SetReadDeadline(time.Now().Add(limit))
	if _, err := io.Copy(io.Discard, r.lines); err != nil {
		t.Fatalf("processes are alive after %v: %v\n%s", limit, err, strings.Join(processesWith(r.path), "\n"))
	}
	if left := processesWith(r.path); len(left) > 0 {
		t.Fatalf("left behind: %q", left)
	}
}

// processesWith lists the running processes with word in their command line.
func processesWith(word string) (found []string) {
	for _, p := range processes() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		if p.pid != os.Getpid() && !p.zombie && strings.Contains(string(line), word) {
			found = append(found, fmt.Sprintf("%d %s", p.pid, strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return found
}

func rssKiB(t *testing.T, pid int) int { return memoryKiB(t, pid, "VmRSS:") }

// memoryKiB reads a memory figure of a process.
func memoryKiB(t *testing.T, pid int, name string) int {
	t.Helper()
	text := must.Read(t, fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(text, name)
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}
