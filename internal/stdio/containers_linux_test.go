package stdio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/mcptest/must"
)

// engine is a program like docker: run is the client of a container that knows
// nothing of its end, ps lists the containers with a label, rm and kill end one.
const engine = `#!/bin/sh
cd "$(dirname "$0")"
case $1 in
run) echo "$*" >run; trap '' TERM; echo ready; while :; do sleep 1; done;;
ps) case " $(cat run) " in *" ${4#label=} "*) echo c0ffee;; esac;;
*) echo "$*" >ended;;
esac
`

// A container ends with the program that asked for it.
func TestContainerEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		end  func(t *testing.T, l *Launcher, c *Child)
		want string
	}{
		{"stopped", []string{"run", "-i", "--rm", "image"}, func(t *testing.T, _ *Launcher, c *Child) {
			if err := c.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}, "rm -f c0ffee\n"},
		{"kept", []string{"run", "-i", "image"}, func(t *testing.T, _ *Launcher, c *Child) {
			if err := c.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		}, "kill c0ffee\n"},
		{"killed by another", []string{"run", "-i", "--rm", "image"}, func(t *testing.T, _ *Launcher, c *Child) {
			if err := unix.Kill(c.PID(), unix.SIGKILL); err != nil {
				t.Error(err)
			}
			waitDone(t, c)
		}, "rm -f c0ffee\n"},
		{"gateway ends", []string{"run", "-i", "--rm", "image"}, func(t *testing.T, l *Launcher, _ *Child) {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}, "rm -f c0ffee\n"},
	} {
		t.Run("fault/F11 container "+tt.name, func(t *testing.T) {
			l := NewLauncher(LauncherOptions{StdinGrace: 50 * time.Millisecond, TermGrace: 50 * time.Millisecond})
			defer l.Close()
			dir := t.TempDir()
			path := must.Program(t, filepath.Join(dir, "docker"), engine)
			c := mustStart(t, l, Command{Name: "server", Path: path, Args: tt.args, Env: os.Environ()})
			readLine(t, c)
			tt.end(t, l, c)
			ended, err := os.ReadFile(filepath.Join(dir, "ended"))
			if err != nil || string(ended) != tt.want {
				t.Errorf("ended %q, %v", ended, err)
			}
			if got := c.Exit().String(); got != "killed by SIGKILL" {
				t.Errorf("exit = %s", got)
			}
			ran, err := os.ReadFile(filepath.Join(dir, "run"))
			if err != nil || !strings.HasPrefix(string(ran), "run --label mcp-all-in-one=") {
				t.Errorf("ran %q, %v", ran, err)
			}
		})
	}
}
