package stdio

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/sandbox"
)

// confinedRole runs a role in a child without access to anything but its own
// folder.
func confinedRole(t *testing.T, role string, args ...string) Command {
	cmd := roleCommand(role, args...)
	cmd.Sandbox = &sandbox.Server{ID: "default/" + role, State: t.TempDir(), Rules: config.Sandbox{On: true, Hosts: config.Hosts{Listed: true}}}
	return cmd
}

func TestConfinedChild(t *testing.T) {
	l := newTestLauncher(t)
	t.Run("install/start", func(t *testing.T) {
		c := mustStart(t, l, confinedRole(t, "echo"))
		echoes(t, c, "hello")
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(c.PID()), "status"))
		if err != nil || !strings.Contains(string(status), "\nSeccomp:\t2\n") || !strings.Contains(string(status), "\nNoNewPrivs:\t1\n") {
			t.Errorf("it is not confined: %v\n%s", err, status)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("install/environment", func(t *testing.T) {
		cmd := confinedRole(t, "environ")
		cmd.Env = append(cmd.Env, "HOME=/home/me", "SSH_AUTH_SOCK=/x", "TOKEN=kept")
		c := mustStart(t, l, cmd)
		var all []string
		for {
			msg, free, err := c.Stream().Read()
			if err != nil {
				break
			}
			all = append(all, string(msg))
			if free != nil {
				free()
			}
		}
		said := strings.Join(all, "\n")
		if !strings.Contains(said, "HOME="+cmd.Sandbox.State) || strings.Contains(said, "SSH_AUTH_SOCK") || !strings.Contains(said, "TOKEN=kept") {
			t.Errorf("environment:\n%s", said)
		}
	})
	t.Run("install/tree", func(t *testing.T) {
		c := mustStart(t, l, confinedRole(t, "echo"))
		c.Kill()
		if status := waitDone(t, c); status.Signal != "SIGKILL" {
			t.Errorf("it ended with %v", status)
		}
	})
}

// TestConfinedDaemon stops a server that left a daemon behind which has no tie to
// it: no parent, no session, no pipe. Another server keeps running, because daemons
// without an owner are killed when no server is left.
func TestConfinedDaemon(t *testing.T) {
	l := newTestLauncher(t)
	mustStart(t, l, roleCommand("echo"))
	for name, stop := range map[string]func(c *Child){
		"stop": func(c *Child) {
			if err := c.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		},
		"kill": func(c *Child) { c.Kill(); waitDone(t, c) },
	} {
		t.Run("install/daemon/"+name, func(t *testing.T) {
			cmd := confinedRole(t, "echo")
			cmd.Path, cmd.Args = "/bin/sh", []string{"-c", `(setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!); exec cat`}
			c := mustStart(t, l, cmd)
			pid, err := strconv.Atoi(readLine(t, c))
			if err != nil {
				t.Fatal(err)
			}
			stop(c)
			waitGone(t, pid, 5*time.Second)
		})
	}
}

func TestConfinedStartErrors(t *testing.T) {
	l := newTestLauncher(t)
	script := must.Program(t, filepath.Join(t.TempDir(), "script"), "#!/no/such/interpreter\n")
	for _, tt := range []struct{ name, path, arg, en, zh string }{
		{"container engine", "docker", "run", "the container is the sandbox", "容器本身就是沙箱"},
		{"dnx", "dnx", "A.B@1.0.0", "dnx cannot be confined", "dnx 无法隔离"},
		{"another form of a runner", "npx", "--package=x", `only as "npx -y PACKAGE[@VERSION] ARGUMENTS"`, `沙箱只支持以 "npx -y 包[@版本] 参数"`},
		{"no interpreter", script, "", "needs /no/such/interpreter, which does not exist", "而它不存在"},
	} {
		t.Run("install/refused "+tt.name, func(t *testing.T) {
			cmd := confinedRole(t, "echo")
			cmd.Path, cmd.Args = tt.path, []string{tt.arg}
			if !filepath.IsAbs(tt.path) {
				cmd.Path = filepath.Join(t.TempDir(), tt.path)
				must.Program(t, cmd.Path, "#!/bin/sh\n")
			}
			_, err := l.Start(t.Context(), cmd)
			var start *StartError
			if !errors.As(err, &start) || !strings.Contains(start.In(i18n.English), tt.en) || !strings.Contains(start.In(i18n.Chinese), tt.zh) {
				t.Errorf("error: %v", err)
			}
		})
	}
}

// BenchmarkStart compares a bare start with a confined one.
func BenchmarkStart(b *testing.B) {
	for _, confined := range []bool{false, true} {
		name := "bare"
		if confined {
			name = "confined"
		}
		b.Run(name, func(b *testing.B) {
			l := NewLauncher(LauncherOptions{})
			defer l.Close()
			cmd := Command{Name: "true", Path: "/bin/true", Env: []string{"PATH=/bin"}}
			if confined {
				cmd.Sandbox = &sandbox.Server{ID: "b", State: b.TempDir(), Rules: config.Sandbox{On: true, Hosts: config.Hosts{Listed: true}}}
			}
			for b.Loop() {
				c, err := l.Start(b.Context(), cmd)
				if err != nil {
					b.Fatal(err)
				}
				<-c.Done()
				c.Stream().Close()
			}
		})
	}
}
