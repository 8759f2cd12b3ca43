package kernels

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

const page = `# Kernels

The attacks on the [sandbox](sandbox.md), run on the kernels of distributions in virtual machines. ` + "`make kernels`" + ` runs them and writes this page; it wants Linux on amd64
with the tools of Debian, downloads the kernels, and takes about an hour.

| processor | kernel | from | Landlock | as root | as a user | outcome | run |
|---|---|---|---|---|---|---|---|
%s
*Landlock* is the version of its interface. *As root* and *as a user* count the attempts: attacks that must fail, each again without the rule that stops it, and what a server must be able to do, also with each
older version of Landlock. On every kernel the program confines a real server and calls it, as a user, where ` + "`kernel.yama.ptrace_scope`" + ` is what the distribution sets; with 2 it refuses. A kernel without Landlock
confines nothing: the server does not start, and the error says why.
`

func (k *kernel) row(release string, got map[string]result, failed bool) string {
	outcome := "holds"
	if k.landlock == 0 {
		outcome = "refused"
	}
	if failed {
		outcome = "fails"
	}
	count := func(step string) string {
		n := len(passed.FindAllString(got[step].out, -1))
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	version := "none"
	if k.landlock > 0 {
		version = fmt.Sprint(k.landlock)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s |\n", k.arch, release, k.from, version, count(attacks), count(user), outcome, time.Now().UTC().Format(time.DateOnly))
}

// row is a line of the table: the processor, the kernel and the rest.
var row = regexp.MustCompile(`(?m)^\| (amd64|arm64) \| ([0-9]+\.[0-9]+).*\|\n`)

// writePage replaces the line of a kernel, and keeps the others.
func (k *kernel) writePage(t *testing.T, line string) {
	t.Helper()
	const path = "../../docs/kernels.md"
	lines := map[string]string{}
	if old, err := os.ReadFile(path); err == nil {
		for _, m := range row.FindAllStringSubmatch(string(old), -1) {
			lines[m[1]+m[2]] = m[0]
		}
	}
	lines[k.arch+k.version] = line
	var table strings.Builder
	for _, k := range kernels {
		table.WriteString(lines[k.arch+k.version])
	}
	if err := os.WriteFile(path, fmt.Appendf(nil, page, table.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
