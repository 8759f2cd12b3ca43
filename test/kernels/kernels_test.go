// Package kernels runs the attacks on the sandbox on the kernels of distributions,
// in virtual machines, and writes docs/kernels.md.
package kernels

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write docs/kernels.md")

// A kernel is one that a distribution has.
type kernel struct {
	arch, version string
	from          string
	source        source
	landlock      int // the version of Landlock that it has; 0 is none
}

var kernels = []kernel{
	{"amd64", "5.10", "Debian 11", bullseye, 0},
	{"amd64", "5.15", "Ubuntu 22.04", jammy, 1},
	{"amd64", "5.19", "Ubuntu 22.04 HWE", jammy, 2},
	{"amd64", "6.1", "Debian 12", bookworm, 2},
	{"amd64", "6.2", "Ubuntu 22.04 HWE", jammy, 3},
	{"amd64", "6.5", "Ubuntu 22.04 HWE", jammy, 3},
	{"amd64", "6.8", "Ubuntu 24.04", noble, 4},
	{"amd64", "6.11", "Ubuntu 24.04 HWE", noble, 5},
	{"amd64", "6.12", "Debian 13", trixie, 6},
	{"amd64", "7.2", "Debian 13 backports", backports, 6},
	{"arm64", "5.10", "Debian 11", bullseye, 0},
	{"arm64", "6.1", "Debian 12", bookworm, 2},
	{"arm64", "6.12", "Debian 13", trixie, 6},
}

// unpack returns the folders of its packages: Debian has put the kernel and its
// modules into two since Linux 6.19.
func (k *kernel) unpack(t *testing.T) (kernel, modules string) {
	t.Helper()
	part := func(name string) string {
		url, err := k.source.newest(t.Context(), k.arch, regexp.MustCompile(`^linux-`+name+`-`+regexp.QuoteMeta(k.version)+`\.[0-9]+(-[0-9]+|\+deb[0-9]+)-(amd64|arm64|generic)$`))
		if err != nil {
			t.Fatal(err)
		}
		return unpack(t, url)
	}
	if k.source == backports {
		return part("binary"), part("modules")
	}
	kernel = part("image")
	return kernel, kernel
}

// bootable returns the kernel in the folder of its package, and its release. It is
// beside its modules where it has a package without them.
func bootable(t *testing.T, dir string) (file, release string) {
	t.Helper()
	for _, place := range []string{"boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz"} {
		if found, err := filepath.Glob(filepath.Join(dir, place)); err == nil && len(found) == 1 {
			file = found[0]
		}
	}
	if file == "" {
		t.Fatalf("%s has no kernel", dir)
	}
	if filepath.Base(file) == "vmlinuz" {
		return file, filepath.Base(filepath.Dir(file))
	}
	return file, strings.TrimPrefix(filepath.Base(file), "vmlinuz-")
}

// A machine is the emulator of a processor.
var machines = map[string]struct {
	program string
	args    []string
	console string
	wait    time.Duration
}{
	"amd64": {"qemu-system-x86_64", []string{"-cpu", "max"}, "ttyS0", 15 * time.Minute},
	"arm64": {"qemu-system-aarch64", []string{"-machine", "virt", "-cpu", "cortex-a72"}, "ttyAMA0", 30 * time.Minute},
}

const (
	call    = "call"
	attacks = "attacks"
	user    = "user"
	yama    = "yama"
)

// steps returns what runs on a kernel.
func (k *kernel) steps() []step {
	demo := []string{"/bin/mcp-all-in-one", "call", "demo", "echo", "message=over there", "-c", "/etc/mcp.json"}
	tests := func(names string) []string {
		return []string{"/bin/sandbox.test", "-test.v", "-test.run", "^(" + names + ")$"}
	}
	const both = "TestAllowed|TestOlderKernels|TestAddressIsReadOnce|TestLauncherSaysWhy|TestNoteUnix|TestMissing"
	list := []step{{Name: call, User: 1000, Args: demo}}
	if k.landlock > 0 {
		list = append(list,
			step{Name: attacks, User: 0, Args: tests("TestAttacks|" + both)},
			step{Name: user, User: 1000, Args: tests(both)},
			step{Name: yama, User: 1000, Args: demo, Write: map[string]string{"/proc/sys/kernel/yama/ptrace_scope": "2"}})
	}
	return list
}

// A result is what a step printed, and its exit code.
type result struct {
	out  string
	code int
}

var (
	begin = regexp.MustCompile(`^KERNELS begin (\w+)$`)
	end   = regexp.MustCompile(`^KERNELS end (\w+) (-?\d+)$`)
)

// run boots a kernel and returns the results of its steps.
func run(t *testing.T, k *kernel) (release string, results map[string]result) {
	t.Helper()
	dir, modules := k.unpack(t)
	file, release := bootable(t, dir)
	ram := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(ram, image(t, k.arch, modules, k.steps()), 0o600); err != nil {
		t.Fatal(err)
	}
	m := machines[k.arch]
	ctx, cancel := context.WithTimeout(t.Context(), m.wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.program, append(m.args, "-m", "2048", "-smp", "2", "-nic", "none", "-display", "none", "-no-reboot", "-serial", "stdio",
		"-kernel", file, "-initrd", ram, "-append", "console="+m.console+" quiet loglevel=1 panic=-1")...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	results = map[string]result{}
	var text strings.Builder
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimRight(lines.Text(), "\r")
		if m := end.FindStringSubmatch(line); m != nil {
			var code int
			_, _ = fmt.Sscan(m[2], &code)
			results[m[1]] = result{text.String(), code}
		}
		if begin.MatchString(line) {
			text.Reset()
		}
		text.WriteString(line + "\n")
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, said.String(), text.String())
	}
	if len(results) != len(k.steps()) {
		t.Fatalf("it ended early: %s", text.String())
	}
	return release, results
}

func TestKernels(t *testing.T) {
	for i := range kernels {
		k := &kernels[i]
		t.Run("install/kernel "+strings.Join([]string{k.arch, k.from, k.version}, " "), func(t *testing.T) {
			begun := time.Now()
			release, got := run(t, k)
			k.check(t, got)
			if *update {
				k.writePage(t, k.row(release, got, t.Failed()))
			}
			t.Logf("%s took %v", release, time.Since(begun).Round(time.Second))
		})
	}
}

// check compares the results with what the page about the sandbox says.
func (k *kernel) check(t *testing.T, got map[string]result) {
	t.Helper()
	answer := "over there"
	if k.landlock == 0 {
		answer = "the sandbox needs Landlock, which this kernel does not have (ABI 0)"
	}
	if r := got[call]; !strings.Contains(r.out, answer) || (r.code == 0) != (k.landlock > 0) {
		t.Errorf("a call of a confined server: exit code %d\n%s", r.code, r.out)
	}
	if k.landlock == 0 {
		return
	}
	for _, name := range []string{attacks, user} {
		if r := got[name]; r.code != 0 {
			t.Errorf("%s: exit code %d\n%s", name, r.code, failures(r.out))
		}
	}
	if !strings.Contains(got[attacks].out, fmt.Sprintf("abi_%d_", k.landlock)) || strings.Contains(got[attacks].out, fmt.Sprintf("abi_%d_", k.landlock+1)) {
		t.Errorf("it has another Landlock than version %d", k.landlock)
	}
	if r := got[yama]; r.code == 0 || !strings.Contains(r.out, "kernel.yama.ptrace_scope forbids") {
		t.Errorf("with ptrace_scope 2: exit code %d\n%s", r.code, r.out)
	}
}

var passed = regexp.MustCompile(`(?m)^ +--- PASS: `)

// failures returns the lines about tests that failed; all if none did.
func failures(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		if strings.Contains(line, "--- FAIL") || strings.Contains(line, "_test.go:") && !strings.Contains(line, ": confined: ") {
			b.WriteString(line)
		}
	}
	return cmp.Or(b.String(), out)
}
