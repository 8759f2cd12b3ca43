package kernels

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const page = `# Kernels

The attacks on the [sandbox](sandbox.md), run on the kernels of distributions in virtual machines. ` + "`make kernels`" + ` runs them and writes this page; it wants Linux on amd64
with the tools of Debian, downloads the kernels, and takes about an hour where arm64 is emulated. Last run: %s.

| processor | kernel | from | Landlock | as root | as a user | outcome |
|---|---|---|---|---|---|---|
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
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", k.arch, release, k.from, version, count(attacks), count(user), outcome)
}

func writePage(t *testing.T, rows []string) {
	t.Helper()
	text := fmt.Sprintf(page, time.Now().UTC().Format(time.DateOnly), strings.Join(rows, ""))
	if err := os.WriteFile("../../docs/kernels.md", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
