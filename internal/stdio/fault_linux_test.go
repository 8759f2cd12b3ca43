package stdio

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest/must"
)

func TestNoChildOutlivesUs(t *testing.T) {
	t.Run("fault/T10", func(t *testing.T) {
		var worst time.Duration
		for range torture(8, 100) {
			worst = max(worst, killGateway(t))
		}
		t.Logf("worst: everything was dead %v after SIGKILL", worst)
	})
}

// killGateway kills a gateway with hostile children and returns how long the
// last of them lived.
func killGateway(t *testing.T) time.Duration {
	t.Helper()
	roll := newRoll(t)
	gateway := exec.Command(testBinary(), "__role", "gateway", roll.path)
	gateway.Stderr = os.Stderr
	out, err := gateway.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	must.OK(t, gateway.Start())
	// The gateway and four hostile children, three of them with a grandchild.
	roll.enrolled(t, 8)
	var helper int
	if _, err := fmt.Fscan(bufio.NewReader(out), &helper); err != nil {
		t.Fatal(err)
	}
	must.OK(t, gateway.Process.Kill())
	killed := time.Now()
	_ = gateway.Wait()
	roll.empty(t, 3*time.Second)
	waitGone(t, helper, time.Until(killed.Add(3*time.Second)))
	return time.Since(killed)
}

func TestRestarts(t *testing.T) {
	kinds := []struct{ script, want string }{
		{"exit 3", "exit status 3"},
		{"exit 0", "exit status 0"},
		{"kill -SEGV $$", "killed by SIGSEGV"},
		{"kill -KILL $$", "killed by SIGKILL"},
		{"sleep 1000 & echo hang; wait", "killed by SIGKILL"},
		{"sleep 1000 & exit 1", "exit status 1"},
	}
	t.Run("fault/T11", func(t *testing.T) {
		before := zombiesOf(nil, os.Getpid())
		l := newTestLauncher(t)
		restart := func(i int) {
			kind := kinds[i%len(kinds)]
			c := mustStart(t, l, Command{Path: "sh", Args: []string{"-c", kind.script}, Env: []string{"PATH=/usr/bin:/bin"}})
			if strings.Contains(kind.script, "hang") {
				readLine(t, c)
				c.Kill()
			}
			if got := waitDone(t, c).String(); got != kind.want {
				t.Fatalf("%q: %s, want %s", kind.script, got, kind.want)
			}
			c.Stream().Close()
		}
		for i := range 60 {
			restart(i)
		}
		helper := helperPID(t, l)
		rss := rssKiB(t, helper)
		ours, theirs, routines := openFiles(t, os.Getpid()), openFiles(t, helper), runtime.NumGoroutine()
		for i := range torture(120, 1000) {
			restart(i)
			if z := zombiesOf(before, helper, os.Getpid()); len(z) > 0 {
				t.Fatalf("zombies after restart %d: %v", i, z)
			}
		}
		if n := openFiles(t, os.Getpid()); n > ours {
			t.Errorf("we hold %d files, %d before", n, ours)
		}
		n := openFiles(t, helper)
		// While the helper reads the process table it has two more files open.
		for limit := time.Now().Add(deadline); n > theirs && time.Now().Before(limit); {
			n = openFiles(t, helper)
		}
		if n > theirs {
			t.Errorf("the helper holds %d files, %d before", n, theirs)
		}
		if n := runtime.NumGoroutine(); n > routines+5 {
			t.Errorf("%d goroutines, %d before", n, routines)
		}
		if now := rssKiB(t, helper); now > rss+2048 && !raceDetector {
			t.Errorf("the helper takes %d KiB, %d before", now, rss)
		}
	})
}

func openFiles(t *testing.T, pid int) int {
	t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// zombiesOf returns the zombies of some processes that are not in before: other
// tests and earlier rounds may have left some.
func zombiesOf(before []proc, parents ...int) (found []proc) {
	for _, p := range processes() {
		if p.zombie && slices.Contains(parents, p.ppid) && !slices.Contains(before, p) {
			found = append(found, p)
		}
	}
	return found
}

func TestEnvironmentOfChildren(t *testing.T) {
	t.Run("fault/T32", func(t *testing.T) {
		parent := []string{"PATH=/usr/bin:/bin", "HOME=/home/x", "LC_ALL=C", "https_proxy=http://p", "GATEWAY=1", "NPM_CONFIG__AUTH=canary", "UV_INDEX_URL=https://me:canary@h"}
		for i := range 10 {
			for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS"} {
				parent = append(parent, fmt.Sprintf("%s%s_%d=canary", []string{"MY_", "XDG_", "npm_config_"}[i%3], word, i))
			}
		}
		env, withheld := Environ(parent, "node", Inherit{}, map[string]string{"OWN_TOKEN": "mine", noExitSleep[0]: noExitSleep[1]})
		if len(withheld) != 53 {
			t.Errorf("%d names are withheld: %q", len(withheld), withheld)
		}
		l := newTestLauncher(t)
		for range 20 {
			cmd := roleCommand("environ")
			cmd.Env = env
			c := mustStart(t, l, cmd)
			want := []string{"GORACE=atexit_sleep_ms=0", "HOME=/home/x", "LC_ALL=C", "OWN_TOKEN=mine", "PATH=/usr/bin:/bin", "https_proxy=http://p"}
			var got []string
			for range want {
				got = append(got, readLine(t, c))
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
			if msg, _, err := c.Stream().Read(); err == nil {
				t.Fatalf("the child sees %q too", msg)
			}
		}
	})
}

func TestStandardError(t *testing.T) {
	t.Run("fault/F30", func(t *testing.T) {
		c := mustStart(t, newTestLauncher(t), roleCommand("flood"))
		echoes(t, c, "after the flood")
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		must.OK(t, c.Stop(ctx))
		lines := c.Stderr().Lines(2)
		if want := []string{strings.Repeat("x", 99), `last \x1b[31mwords`}; !slices.Equal(lines, want) {
			t.Errorf("last lines are %q", lines)
		}
		if n := len(c.Stderr().Lines(0)); n < 600 || n > 660 {
			t.Errorf("%d lines are kept", n)
		}
	})
}

func TestStartsAreLimited(t *testing.T) {
	l := NewLauncher(LauncherOptions{MaxStarting: 1})
	defer l.Close()
	l.starting <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := l.Start(ctx, roleCommand("echo")); err != context.DeadlineExceeded {
		t.Errorf("a second start: %v", err)
	}
	<-l.starting
	mustStart(t, l, roleCommand("echo"))
}

// torture returns the number of repetitions: usual, or all if requested.
func torture(usual, all int) int {
	if os.Getenv("TORTURE") != "" {
		return all
	}
	return usual
}
