package stdio

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/mcptest/must"
)

func TestChildEchoes(t *testing.T) {
	l := newTestLauncher(t)
	t.Run("corpus/S10", func(t *testing.T) {
		c := mustStart(t, l, roleCommand("trickle"))
		echoes(t, c, `{"text":"one byte per write, ünïcödé 🙂"}`)
	})
	t.Run("corpus/S13", func(t *testing.T) {
		c := mustStart(t, l, roleCommand("noStderr"))
		echoes(t, c, "1")
		stops(t, c, "exit status 0")
	})
	t.Run("own standard files", func(t *testing.T) {
		c := mustStart(t, l, roleCommand("std"))
		echoes(t, c, "1")
		if status := waitDone(t, c); status.Code != 0 {
			t.Errorf("%s: %q", status, c.Stderr().Lines(0))
		}
	})
	t.Run("large", func(t *testing.T) {
		c := mustStart(t, l, roleCommand("echo"))
		want := strings.Repeat("abcdefgh", 1<<17)
		written := make(chan error, 1)
		go func() { written <- c.Stream().Write([]byte(`"`), []byte(want), []byte(`"`)) }()
		if got := readLine(t, c); got != `"`+want+`"` {
			t.Errorf("a megabyte came back as %d bytes", len(got))
		}
		must.OK(t, <-written)
	})
}

func TestStop(t *testing.T) {
	roll := newRoll(t)
	for _, tt := range []struct {
		name        string
		cmd         Command
		stdin, term time.Duration
		want        string
	}{
		{"standard input", roleCommand("echo"), deadline, deadline, "exit status 0"},
		{"terminate", roleCommand("deaf"), 50 * time.Millisecond, deadline, "killed by SIGTERM"},
		{"kill", roleCommand("ignore", roll.path), 50 * time.Millisecond, 50 * time.Millisecond, "killed by SIGKILL"},
	} {
		t.Run("fault/F11 "+tt.name, func(t *testing.T) {
			l := NewLauncher(LauncherOptions{StdinGrace: tt.stdin, TermGrace: tt.term})
			defer l.Close()
			c := mustStart(t, l, tt.cmd)
			if tt.name != "standard input" {
				readLine(t, c)
			}
			stops(t, c, tt.want)
			if err := c.Stop(t.Context()); err != nil {
				t.Errorf("second stop: %v", err)
			}
		})
	}
	t.Run("ended context kills at once", func(t *testing.T) {
		l := NewLauncher(LauncherOptions{StdinGrace: time.Hour, TermGrace: time.Hour})
		defer l.Close()
		c := mustStart(t, l, roleCommand("deaf"))
		readLine(t, c)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		must.OK(t, c.Stop(ctx))
	})
}

func TestDeadChildTakesItsTree(t *testing.T) {
	for _, tt := range []struct {
		kind  string
		alone bool // nothing else ties the grandchild to its child
	}{{"group", false}, {"pipes", false}, {"setsid", true}} {
		t.Run("fault/F12 leader exits, "+tt.kind, func(t *testing.T) {
			roll := newRoll(t)
			l := newTestLauncher(t)
			if !tt.alone {
				mustStart(t, l, roleCommand("echo"))
			}
			c := mustStart(t, l, roleCommand("leader", roll.path, tt.kind))
			readLine(t, c)
			roll.enrolled(t, 1)
			send(t, c, "exit")
			exited(t, c, "exit status 7")
			roll.empty(t, 3*time.Second)
		})
	}
	for _, kind := range []string{"group", "setsid"} {
		t.Run("fault/F12 killed, "+kind, func(t *testing.T) {
			roll := newRoll(t)
			l := newTestLauncher(t)
			other := mustStart(t, l, roleCommand("echo"))
			c := mustStart(t, l, roleCommand("parent", roll.path, kind))
			roll.enrolled(t, 2)
			c.Kill()
			exited(t, c, "killed by SIGKILL")
			roll.empty(t, 3*time.Second)
			echoes(t, other, "alive")
		})
	}
}

func TestHelperDies(t *testing.T) {
	for _, kind := range []struct {
		name string
		cmd  func(fifo string) Command
	}{
		{"group", func(fifo string) Command { return roleCommand("parent", fifo) }},
		{"setsid", func(fifo string) Command { return roleCommand("parent", fifo, "setsid") }},
		{"daemon", func(fifo string) Command { return roleCommand("daemon", fifo) }},
	} {
		t.Run("fault/F12 helper killed, "+kind.name, func(t *testing.T) {
			before := zombiesOf(nil, os.Getpid())
			l, spared := newTestLauncher(t), newTestLauncher(t)
			other := mustStart(t, spared, roleCommand("echo"))
			ours := exec.Command("sleep", "1000")
			must.OK(t, ours.Start())
			roll := newRoll(t)
			c := mustStart(t, l, kind.cmd(roll.path))
			roll.enrolled(t, 2)
			must.OK(t, unix.Kill(helperPID(t, l), unix.SIGKILL))
			if status := waitDone(t, c); !errors.Is(status.Err, errHelperDied) {
				t.Errorf("exit = %s", status)
			}
			roll.empty(t, 3*time.Second)
			echoes(t, mustStart(t, l, roleCommand("echo")), "again")
			echoes(t, other, "not touched")
			if err := ours.Process.Signal(unix.SIGTERM); err != nil {
				t.Error(err)
			}
			if err := ours.Wait(); err == nil || err.Error() != "signal: terminated" {
				t.Errorf("a process that is no server: %v", err)
			}
			if z := zombiesOf(before, os.Getpid()); len(z) > 0 {
				t.Errorf("zombies: %v", z)
			}
		})
	}
}

// TestHelperIsDying checks that a child requested while a helper dies is started by
// the next helper.
func TestHelperIsDying(t *testing.T) {
	t.Run("fault/F12 start meanwhile", func(t *testing.T) {
		l := newTestLauncher(t)
		c := mustStart(t, l, roleCommand("echo"))
		pid := helperPID(t, l)
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil { // so that its end takes longer
			t.Fatal(err)
		}
		must.OK(t, l.platform.current.link.conn.Close())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := l.Start(ctx, roleCommand("echo")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("not waited for its end: %v", err)
		}
		must.OK(t, unix.Kill(pid, unix.SIGKILL))
		echoes(t, mustStart(t, l, roleCommand("echo")), "again")
		waitDone(t, c)
	})
}

func TestHelperIsDeafAndSmall(t *testing.T) {
	l := newTestLauncher(t)
	c := mustStart(t, l, roleCommand("echo"))
	pid := helperPID(t, l)
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		must.OK(t, unix.Kill(pid, sig))
	}
	stops(t, c, "exit status 0")
	// The pages of the program are shared with the gateway, so they do not count.
	if own := memoryKiB(t, pid, "RssAnon:"); own > 5<<10 && !raceDetector {
		t.Errorf("the helper takes %d KiB of its own", own)
	} else {
		t.Logf("the helper takes %d KiB of its own", own)
	}
	if p, ok := readProc(pid, make([]byte, 1024)); !ok || p.sid != pid {
		t.Errorf("the helper is in session %d", p.sid)
	}
}

func TestLauncherClose(t *testing.T) {
	l := newTestLauncher(t)
	roll := newRoll(t)
	c := mustStart(t, l, roleCommand("parent", roll.path, "setsid"))
	roll.enrolled(t, 2)
	pid := helperPID(t, l)
	must.OK(t, l.Close())
	exited(t, c, "killed by SIGKILL")
	roll.empty(t, 3*time.Second)
	waitGone(t, pid, time.Second)
	if _, err := l.Start(t.Context(), roleCommand("echo")); !errors.Is(err, errLauncherClosed) {
		t.Errorf("start after close: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		must.Folder(t, filepath.Dir(path))
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "#!/bin/sh\n", 0o600)
	orphan := write("orphan", "#!/no/such/interpreter -x\n", 0o700)
	alien := write("alien", "not a program\n", 0o700)
	write(".nvm/versions/node/v22.1.0/bin/npx-of-nvm", "#!/bin/sh\n", 0o700)
	env := []string{"PATH=/bin:/nowhere", "HOME=" + dir}
	for _, tt := range []struct {
		name string
		cmd  Command
		is   error
		want []string
	}{
		{"empty", Command{}, fs.ErrInvalid, []string{"no command"}},
		{"not found", Command{Path: "no-such-command"}, fs.ErrNotExist,
			[]string{`"no-such-command"`, "command not found in PATH"}},
		{"found elsewhere", Command{Path: "npx-of-nvm"}, fs.ErrNotExist,
			[]string{"there is " + dir + "/.nvm/versions/node/v22.1.0/bin/npx-of-nvm", "PATH"}},
		{"corpus/C08", Command{Path: "npx -y server"}, fs.ErrNotExist, []string{`put "npx" into command`, "args"}},
		{"spaces in path", Command{Path: "/bin/sh -c true"}, fs.ErrNotExist, []string{`put "/bin/sh" into command`}},
		{"not executable", Command{Path: plain}, fs.ErrPermission, []string{"not executable", "chmod"}},
		{"directory", Command{Path: dir}, fs.ErrInvalid, []string{"is a directory"}},
		{"no working directory", Command{Path: "sh", Dir: dir + "/gone"}, fs.ErrNotExist, []string{"working directory", "gone"}},
		{"working directory is a file", Command{Path: "sh", Dir: plain}, fs.ErrInvalid, []string{"not a directory"}},
		{"no interpreter", Command{Path: orphan}, unix.ENOENT, []string{"needs /no/such/interpreter"}},
		{"no program", Command{Path: alien}, unix.ENOEXEC, []string{"no #! line"}},
		{"corpus/C10 NUL", Command{Path: "sh", Args: []string{"a\x00b"}}, fs.ErrInvalid, []string{"NUL"}},
		{"too large", Command{Path: "sh", Args: []string{strings.Repeat("x", 1<<20)}}, unix.E2BIG, []string{"too large"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cmd.Env = env
			_, err := newTestLauncher(t).Start(t.Context(), tt.cmd)
			var start *StartError
			if !errors.As(err, &start) || !errors.Is(err, tt.is) {
				t.Fatalf("err = %v", err)
			}
			if strings.Contains(err.Error(), "/nowhere") || tt.name == "not found" && start.Searched != "/bin:/nowhere" {
				t.Errorf("error %q, searched %q: PATH belongs into the second alone", err, start.Searched)
			}
			must.Contain(t, err.Error(), tt.want...)
		})
	}
}

func TestCommandWithSpacesThatExists(t *testing.T) {
	path := must.Program(t, filepath.Join(t.TempDir(), "my server"), "#!/bin/sh\nprintf '%s\\n' \"$PWD\" \"$1\"\n")
	dir := t.TempDir()
	c := mustStart(t, newTestLauncher(t), Command{Path: path, Args: []string{"two\nlines"}, Dir: dir, Env: []string{"BAD=\xff"}})
	for _, want := range []string{dir, "two", "lines"} {
		if got := readLine(t, c); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
