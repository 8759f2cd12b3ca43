package platforms

import (
	"fmt"
	"os"
	"testing"
)

const page = `# Platforms

What was run, not only compiled. ` + "`make platforms`" + ` runs it and writes this page; it wants Linux on amd64, and installs qemu-user, wine and
mingw from the distribution's packages.

| platform | in | what was run | outcome |
|---|---|---|---|
| Linux arm64 | qemu-user | stdio to stdio, HTTP to stdio, HTTP to HTTP, stop, children gone | %s |
| Linux armv7 | qemu-user | the same | %s |
| Linux riscv64 | qemu-user | the same | %s |
| Windows amd64 | wine 8 | the same, list, call, as a service | %s |

Linux amd64 is what all other tests run on. Not run here:

- **macOS**, amd64 and arm64: compiled, and its tests are compiled (` + "`make crosscheck`" + `). No emulator of it can be had. The workflow runs ` + "`make test`" + ` on it.
- **Windows itself**: wine is not Windows. Its access lists, job objects and console are wine's. The workflow runs ` + "`make test`" + ` on it.
- **Windows arm64, Linux 386**: compiled; for 386 the tests, too.

An emulator refuses to make the gateway the reaper of its servers' orphans: it warns, and follows trees by parent, process group and session.
`

func writePage(t *testing.T) {
	t.Helper()
	if err := os.WriteFile("../../docs/platforms.md", fmt.Appendf(nil, page, outcomes["linux arm64"], outcomes["linux armv7"], outcomes["linux riscv64"], outcomes["windows amd64"]), 0o644); err != nil {
		t.Fatal(err)
	}
}
