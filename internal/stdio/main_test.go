//go:build unix

package stdio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/sandbox/launcher"
	"mcp-all-in-one/internal/stdio/lines"
)

// TestMain lets the test binary act as the helper and as all kinds of children.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__helper" {
		os.Exit(RunHelper(context.Background()))
	}
	if len(os.Args) > 1 && os.Args[1] == launcher.Command {
		os.Exit(launcher.Exec())
	}
	if len(os.Args) > 2 && os.Args[1] == "__role" {
		roles[os.Args[2]](os.Args[3:])
		os.Exit(0)
	}
	os.Setenv(noExitSleep[0], noExitSleep[1])
	os.Exit(m.Run())
}

// noExitSleep keeps children built with the race detector from sleeping a second
// before they exit.
var noExitSleep = [2]string{"GORACE", "atexit_sleep_ms=0"}

var roles map[string]func(args []string)

func init() {
	roles = map[string]func(args []string){
		"echo":     roleEcho,
		"environ":  roleEnviron,
		"flood":    roleFlood,
		"deaf":     roleDeaf,
		"ignore":   roleIgnore,
		"parent":   roleParent,
		"daemon":   roleDaemon,
		"fork":     roleFork,
		"leader":   roleLeader,
		"gateway":  roleGateway,
		"trickle":  roleTrickle,
		"noStderr": roleNoStderr,
		"std":      roleStd,
		"files":    roleFiles,
	}
}

// roleCommand runs a role in a child.
func roleCommand(role string, args ...string) Command {
	return Command{
		Name: role, Path: testBinary(), Args: append([]string{"__role", role}, args...),
		Env: []string{"PATH=/usr/bin:/bin", strings.Join(noExitSleep[:], "=")},
	}
}

func testBinary() string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return exe
}

// roleEcho sends every line back.
func roleEcho([]string) {
	_, _ = io.Copy(os.Stdout, os.Stdin)
}

func roleEnviron([]string) {
	for _, entry := range os.Environ() {
		fmt.Println(entry)
	}
}

// roleFlood writes ten megabytes to standard error before it echoes.
func roleFlood([]string) {
	line := strings.Repeat("x", 99) + "\n"
	for range 100_000 {
		fmt.Fprint(os.Stderr, line)
	}
	fmt.Fprintln(os.Stderr, "last \x1b[31mwords")
	roleEcho(nil)
}

func roleNoStderr([]string) {
	os.Stderr.Close()
	roleEcho(nil)
}

// roleTrickle echoes one byte per write.
func roleTrickle([]string) {
	in := bufio.NewReader(os.Stdin)
	for {
		b, err := in.ReadByte()
		if err != nil {
			return
		}
		_, _ = os.Stdout.Write([]byte{b})
	}
}

// roleStd echoes one message through its own standard files, then closes them while
// it waits for another.
func roleStd([]string) {
	s := Serve(os.Stdin, os.Stdout, lines.StreamOptions{})
	msg, _, err := s.Read()
	if err != nil {
		panic(err)
	}
	if err := s.Write(msg); err != nil {
		panic(err)
	}
	read := make(chan error, 1)
	go func() {
		_, _, err := s.Read()
		read <- err
	}()
	s.Close()
	if err := <-read; !errors.Is(err, os.ErrClosed) {
		panic(err)
	}
}

// roleDeaf ignores the end of its standard input.
func roleDeaf([]string) {
	fmt.Println("ready")
	pause()
}

// roleIgnore ignores the end of its standard input and the signals that ask it to
// exit. It keeps the fifo open while it lives.
func roleIgnore(args []string) {
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	enroll(args[0])
	fmt.Println("ready")
	pause()
}

// roleParent ignores everything and has a child that does so too, in its own
// session if told "setsid".
func roleParent(args []string) {
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	startRole(len(args) > 1 && args[1] == "setsid", "ignore", args[0])
	roleIgnore(args)
}

// roleDaemon ignores everything and has a daemon: a grandchild in its own session
// whose parent has exited.
func roleDaemon(args []string) {
	if err := startRole(true, "fork", args[0]).Wait(); err != nil {
		panic(err)
	}
	roleIgnore(args)
}

func roleFork(args []string) { startRole(true, "ignore", args[0]) }

// roleLeader starts a grandchild and exits when it is told to.
func roleLeader(args []string) {
	if args[1] == "pipes" {
		startRoleWith(os.Stderr, true, "ignore", args[0])
	} else {
		startRole(args[1] == "setsid", "ignore", args[0])
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(7)
}

// startRole starts a role that inherits none of our files.
func startRole(setsid bool, role string, args ...string) *exec.Cmd {
	return startRoleWith(nil, setsid, role, args...)
}

func startRoleWith(stderr io.Writer, setsid bool, role string, args ...string) *exec.Cmd {
	cmd := exec.Command(testBinary(), append([]string{"__role", role}, args...)...)
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd
}

// roleGateway starts hostile children and waits to be killed.
func roleGateway(args []string) {
	l := NewLauncher(LauncherOptions{})
	for _, cmd := range []Command{
		roleCommand("ignore", args[0]),
		roleCommand("parent", args[0]),
		roleCommand("parent", args[0], "setsid"),
		roleCommand("daemon", args[0]),
	} {
		if _, err := l.Start(context.Background(), cmd); err != nil {
			panic(err)
		}
	}
	l.platform.mu.Lock()
	helper := l.platform.current.cmd.Process.Pid
	l.platform.mu.Unlock()
	enroll(args[0])
	fmt.Println(helper)
	pause()
}

// enroll writes our process id into the fifo and leaves it open.
func enroll(fifo string) {
	fd, err := unix.Open(fifo, unix.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	if _, err := unix.Write(fd, fmt.Appendf(nil, "%d\n", os.Getpid())); err != nil {
		panic(err)
	}
}

// pause waits to be killed.
func pause() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, unix.SIGUSR2)
	<-never
}
