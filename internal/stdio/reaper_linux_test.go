package stdio

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/mcptest/must"
)

// TestNoReaper runs where the system refuses to make us a reaper, as an emulator or
// a container's filter does. Servers must run anyway, their trees must die with
// them, and the warning must be logged once.
func TestNoReaper(t *testing.T) {
	t.Run("get/no reaper", func(t *testing.T) {
		roll := newRoll(t)
		cmd := exec.CommandContext(t.Context(), testBinary(), "__role", "filtered", "twice", roll.path)
		var log strings.Builder
		cmd.Stderr = &log
		orders, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		must.OK(t, cmd.Start())
		for range 2 {
			roll.enrolled(t, 2) // a server and its child
			fmt.Fprintln(orders, "kill it")
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, log.String())
		}
		roll.empty(t, deadline)
		if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "reaper of orphaned") {
			t.Errorf("it warned %d times:\n%s", n, log.String())
		}
	})
}

// roleTwice starts two servers with trees, each with its own helper, and kills each
// when told to.
func roleTwice(args []string) {
	orders := bufio.NewReader(os.Stdin)
	for range 2 {
		l := NewLauncher(LauncherOptions{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
		c, err := l.Start(context.Background(), roleCommand("parent", args[0], "setsid"))
		if err != nil {
			panic(err)
		}
		if _, err := orders.ReadString('\n'); err != nil {
			panic(err)
		}
		c.Kill()
		<-c.Done()
		l.Close()
	}
}

// roleFiltered executes another role in a process in which becoming a reaper fails,
// also for its descendants.
func roleFiltered(args []string) {
	runtime.LockOSThread()
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	const number, firstArgument = 0, 16 // offsets in struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 3, K: unix.SYS_PRCTL},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: firstArgument},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.PR_SET_CHILD_SUBREAPER},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	must(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	must(unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0))
	must(unix.Exec(testBinary(), append([]string{testBinary(), "__role"}, args...), os.Environ()))
}

func init() {
	roles["filtered"], roles["twice"] = roleFiltered, roleTwice
}
