// Package platforms runs the program on other platforms in emulators, and
// writes docs/platforms.md.
package platforms

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest"
)

var update = flag.Bool("update", false, "write docs/platforms.md")

// emulated are the platforms and how the kernel recognises their programs.
var emulated = []struct {
	name, goarch, qemu, magic, mask string
}{
	{"linux arm64", "arm64", "qemu-aarch64-static", `\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00`, `\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`},
	{"linux armv7", "arm", "qemu-arm-static", `\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x28\x00`, `\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`},
	{"linux riscv64", "riscv64", "qemu-riscv64-static", `\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xf3\x00`, `\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`},
}

// inside is set if the emulators are registered in the kernel.
const inside = "PLATFORMS_INSIDE"

// TestMain registers the emulators in a separate namespace, where they do not
// affect the rest of the machine.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(inside) != "" {
		mcptest.Patience(wait)
		os.Exit(m.Run())
	}
	script := "set -e\nmount -t binfmt_misc none /proc/sys/fs/binfmt_misc\n"
	for _, e := range emulated {
		script += fmt.Sprintf("printf %%s ':%s:M::%s:%s:/usr/bin/%s:F' >/proc/sys/fs/binfmt_misc/register\n", e.qemu, e.magic, e.mask, e.qemu)
	}
	script += `exec "$@"`
	cmd := exec.Command("unshare", append([]string{"--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"}, os.Args...)...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Run() // the exit code reports the failure
	os.Exit(cmd.ProcessState.ExitCode())
}

// wait is the time limit of each step in an emulator on a busy machine.
const wait = 2 * time.Minute

// build compiles the program for a platform.
func build(t *testing.T, goos, goarch string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp-all-in-one")
	if goos == "windows" {
		path += ".exe"
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "../..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch, "GOARM=7")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// A machine runs the program of one platform.
type machine struct {
	program string   // its path on the platform
	before  []string // the emulator, if the kernel does not find it
	env     []string
}

func (m machine) start(args ...string) mcptest.Program {
	command := append(append([]string{}, m.before...), append([]string{m.path()}, args...)...)
	return mcptest.Program{Path: command[0], Args: command[1:], Env: m.env}
}

func (m machine) path() string { return m.program }

// config writes a configuration and returns its path on this machine: on
// Windows a path without a drive, which is on the current one.
func (m machine) config(t *testing.T, servers string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.json")
	text := `{"mcpServers":{` + servers + `},"startWait":"2m","limits":{"connect":"2m"}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (m machine) demo() string {
	return fmt.Sprintf(`"demo":{"command":%q,"args":["demo"]}`, m.program)
}

const echo = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"demo__echo","arguments":{"message":"over there"}}}`

// httpCall calls a tool of a gateway.
func httpCall(t *testing.T, url, request string) {
	t.Helper()
	c := mcptest.NewRawHTTP(t, url+"/mcp")
	if m := c.Initialize("2025-06-18", `{}`); m.Error != nil {
		t.Fatalf("initialize: %+v", m.Error)
	}
	reply, err := c.Try(t.Context(), "POST", request)
	if err != nil || !strings.Contains(string(reply.Body), "over there") {
		t.Errorf("%v: %s", err, reply.Body)
	}
}

// ways calls a tool over every pair of transports, stops the gateway, and
// checks that no process is left.
func ways(t *testing.T, m machine, stop syscall.Signal) {
	t.Run("get/stdio to stdio", func(t *testing.T) {
		p := mcptest.StartStdio(t, m.start("stdio", "-c", m.config(t, m.demo())))
		p.Initialize("2025-06-18", `{}`)
		if reply := p.Ask(echo); !strings.Contains(reply.Raw, "over there") {
			t.Errorf("got %s", reply.Raw)
		}
		p.Finish(wait)
	})
	t.Run("get/http to stdio, http to http, stop", func(t *testing.T) {
		first := mcptest.Start(t, m.start("http", "-p", "0", "--no-ui", "-c", m.config(t, m.demo())))
		url := first.Listening()
		httpCall(t, url, echo)
		second := mcptest.Start(t, m.start("http", "-p", "0", "--no-ui", "-c", m.config(t, fmt.Sprintf(`"first":{"url":%q}`, url+"/mcp"))))
		httpCall(t, second.Listening(), strings.Replace(echo, "demo__echo", "first__demo__echo", 1))
		second.Signal(stop)
		second.Wait(wait)
		first.Signal(stop)
		first.Wait(wait)
		noneLeft(t, m.program)
	})
}

// noneLeft waits until no process has the program in its command line.
func noneLeft(t *testing.T, program string) {
	t.Helper()
	base := filepath.Base(filepath.Dir(program)) + "/" + filepath.Base(program)
	for end := time.Now().Add(wait); ; {
		left := ""
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range lines {
			text, _ := os.ReadFile(path)
			if strings.Contains(strings.ReplaceAll(string(text), `\`, "/"), base) {
				left += strings.ReplaceAll(string(text), "\x00", " ") + "\n"
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left behind:\n%s", left)
		}
		_ = exec.Command("true").Run() // yields to the other processes
	}
}

func TestPlatforms(t *testing.T) {
	for _, e := range emulated {
		run(t, e.name, func(t *testing.T) {
			m := machine{program: build(t, "linux", e.goarch), env: []string{"HOME=" + t.TempDir(), "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "MCP_AIO_LANG=en"}}
			ways(t, m, syscall.SIGTERM)
		})
	}
	run(t, "windows amd64", func(t *testing.T) {
		m := wine(t)
		out, err := exec.CommandContext(t.Context(), m.before[0], m.program, "list", "tools", "--", m.program, "demo").Output()
		if err != nil || !strings.Contains(string(out), "echo") {
			t.Errorf("list: %v\n%s", err, out)
		}
		out, err = exec.CommandContext(t.Context(), m.before[0], m.program, "call", "add", "a=19", "b=23", "--", m.program, "demo").Output()
		if err != nil || !strings.Contains(string(out), `{"sum":42}`) {
			t.Errorf("call: %v\n%s", err, out)
		}
		ways(t, m, syscall.SIGINT)
		windowsService(t, m)
	})
	if *update {
		writePage(t)
	}
}

// windowsService lets the service manager start and stop the program. wine has
// no user services, so the service is created with wine's own tool.
func windowsService(t *testing.T, m machine) {
	t.Run("get/windows service", func(t *testing.T) {
		run := func(args ...string) (string, int) {
			// A file instead of a pipe: the processes that wine starts keep the
			// output open, and the test would wait for them.
			out, err := os.Create(filepath.Join(t.TempDir(), "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			cmd := exec.CommandContext(t.Context(), m.before[0], args...)
			cmd.Stdout, cmd.Stderr = out, out
			_ = cmd.Run()
			text, err := os.ReadFile(out.Name())
			if err != nil {
				t.Fatal(err)
			}
			return string(text), cmd.ProcessState.ExitCode()
		}
		if out, code := run(m.program, "service", "status"); code != 4 || !strings.Contains(out, "not installed") {
			t.Errorf("before: %d %s", code, out)
		}
		if out, code := run("sc", "create", "mcp-all-in-one", "binPath=", m.program+" service run http --port 0"); code != 0 {
			t.Fatalf("sc create: %s", out)
		}
		if out, code := run("sc", "start", "mcp-all-in-one"); code != 0 {
			t.Fatalf("sc start: %s", out)
		}
		logs := mcptest.Start(t, m.start("service", "logs", "-f"))
		httpCall(t, logs.Listening(), echo)
		logs.Stop()
		if out, code := run(m.program, "service", "status"); code != 0 || !strings.Contains(out, "running") {
			t.Errorf("running: %d %s", code, out)
		}
		if out, code := run(m.program, "service", "uninstall"); code != 0 {
			t.Errorf("uninstall: %d %s", code, out)
		}
		noneLeft(t, m.program)
	})
}

// outcomes are the results on the page, by platform.
var outcomes = map[string]string{}

func run(t *testing.T, platform string, test func(t *testing.T)) {
	t.Helper()
	outcomes[platform] = "not run"
	t.Run("get/"+platform, func(t *testing.T) {
		outcomes[platform] = "fails"
		test(t)
		if !t.Failed() {
			outcomes[platform] = "works"
		}
	})
}

// wine sets up a Windows, with the only function that wine 8 lacks.
func wine(t *testing.T) machine {
	t.Helper()
	dir := t.TempDir()
	program := build(t, "windows", "amd64")
	const loader = "/usr/lib/wine/wine64"
	t.Setenv("WINEPREFIX", filepath.Join(dir, "prefix"))
	t.Setenv("WINEDEBUG", "-all")
	t.Setenv("MCP_AIO_LANG", "en")
	do := func(program string, args ...string) {
		if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
	}
	do(loader, "wineboot", "--init")
	t.Cleanup(func() { _ = exec.Command("/usr/lib/wine/wineserver64", "--kill").Run() })
	do("x86_64-w64-mingw32-gcc", "-shared", "-o", filepath.Join(dir, "prefix/drive_c/windows/system32/bcryptprimitives.dll"), "testdata/prng.c", "-ladvapi32")
	return machine{program: "Z:" + strings.ReplaceAll(program, "/", `\`), before: []string{loader}}
}
