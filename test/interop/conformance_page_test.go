package interop

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// row returns one line of the page.
func (c cell) row(passed, total int, failed []string) string {
	var notes []string
	for _, name := range failed {
		why := c.misses[name]
		if why == "" {
			why = "fails"
		}
		notes = append(notes, fmt.Sprintf("`%s`: %s", name, why))
	}
	protocol := c.protocol
	if protocol == "" {
		protocol = "auto"
	}
	return fmt.Sprintf("| %s | %s | %s | %d of %d | %s |\n", c.revision, c.upstream, protocol, passed, total, strings.Join(notes, "; "))
}

// seen is what the tests before TestConformance add to the page.
var seen struct {
	client   []string // rows of the scenarios with the gateway as the client
	together []string // rows of several suites at once
}

func writePage(t *testing.T, rows []string) {
	if len(rows) != len(cells) || len(seen.client) == 0 || len(seen.together) == 0 {
		t.Fatal("-update needs -matrix, and every test of the suite")
	}
	page := "# Conformance\n\n" +
		"The official conformance suite runs as the client of `/s/everything/mcp`. Behind the gateway stands the fixture\n" +
		"of the official Go SDK, over stdio or HTTP, with its tools under their own names. A scenario passes when a check of\n" +
		"its own succeeds and none fails; one that merely does not run does not count. Written by `make conformance`.\n\n" +
		"| revision | upstream | `protocol` | required scenarios that pass | the rest |\n|---|---|---|---|---|\n" +
		strings.Join(rows, "") +
		"\n## Several at once\n\n" +
		"Each session has a server of its own (`share: session`), over stdio; the suites must all end the same.\n\n" +
		"| revision | suites at once | required scenarios that pass |\n|---|---|---|\n" + strings.Join(seen.together, "") +
		"\n## The gateway as the client\n\n" +
		"Here the suite is the server, the gateway stands before it, and the SDK's client before the gateway: what is judged is\n" +
		"what the gateway sends. A check that is only recommended counts like the others.\n\n" +
		"| revision | scenario | checks that pass | the rest |\n|---|---|---|---|\n" + strings.Join(seen.client, "")
	if err := os.WriteFile("../../docs/conformance.md", []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}
