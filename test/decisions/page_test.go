package decisions

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the page")

const page = "../../docs/decisions.md"

// A tally collects the outcomes of the cells for the page.
type tally struct {
	mu     sync.Mutex
	judged int
	failed map[decisionID]map[place]bool
}

func (y *tally) add(d decisionID, at place, failed bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.judged++
	if !failed {
		return
	}
	if y.failed == nil {
		y.failed = map[decisionID]map[place]bool{}
	}
	if y.failed[d] == nil {
		y.failed[d] = map[place]bool{}
	}
	y.failed[d][at] = true
}

// whole reports whether all cells ran, not only those selected with -run.
func (y *tally) whole() bool {
	want := 0
	for _, d := range doors {
		want += len(d.eras) * len(decisions)
	}
	return y.judged == want
}

// hold compares the page with the outcomes of the cells, or writes it.
func (y *tally) hold(t *testing.T) {
	if !y.whole() {
		return
	}
	want := y.render()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/decisions.md is stale: run make docs")
	}
}

const preface = `# Decisions

This page is made from ` + "`test/decisions`" + `; do not edit it. Whatever way a request comes in, the same decisions are made about it, in this order, before
anything is sent to a server. Each cell of the table below is a test with the real binary and a server that writes down what it hears.

## What is decided

| | decision | here | the client is told |
|---:|---|---|---|
`

const doorsHead = `
` + "`draining`, `overloaded`, `rate_limited`, `repeated_call` and `policy_denied`" + ` are the reason in the data of the error. The protocol has words of its own for the others. What a key may not
see does not exist for it: it is told what it would be told about a name that nobody has.

*ask* also holds for the tools of our own that change the configuration: a call that would remove a server which a person has written or approved waits for a
person's approval, at the client (elicitation) or else in the inbox, and is refused if no person can be asked.

## Doors

| door | what | era of the client | who | in the record |
|---|---|---|---|---|
`

const matrixHead = `
## Every decision at every door

| sign | what the test shows |
|---|---|
| ✓ | Refused with the reason above. The server heard nothing. The record and the audit trail have the principal, the door, the server and the tool. |
| ✓ with a number | Refused with the reason above, and the server heard nothing. There is no call to record: see the note. |
| shut | The console refuses the key before it can ask for anything. The server heard nothing. |
| – | There is nothing to decide: see the note. |
| ✗ | The test fails. |

The column *nothing* is the control: the same attempt with nothing in its way reaches the server, and is recorded.

`

const ownHead = `
## What the gateway answers itself

The gateway answers these requests itself; at most it asks the servers that the key may see. No other check applies to them. While the gateway shuts down, all of them are refused with ` + "`draining`" + `.
*all*: what the servers have. *all and own*: that, and the tools that change the configuration. *read-only*: the tools that say that they only read. *other's only*: nothing of the server that the key may not see.

`

func (y *tally) render() string {
	var b strings.Builder
	b.WriteString(preface)
	for id, d := range decisions {
		if decisionID(id) != nothing {
			fmt.Fprintf(&b, "| %d | %s | %s | `%s` |\n", id, d.name, d.about, d.reason)
		}
	}
	b.WriteString(doorsHead)
	for _, d := range doors {
		var eras []string
		for _, e := range d.eras {
			eras = append(eras, e.String())
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | `%s` |\n", d.name, d.about, strings.Join(eras, ", "), whoIs(d.who), d.via)
	}
	b.WriteString(matrixHead)
	var n notes
	b.WriteString("| door | era |")
	for _, d := range decisions {
		b.WriteString(" " + d.name + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat(":-:|", len(decisions)) + "\n")
	for id, d := range doors {
		for _, e := range d.eras {
			fmt.Fprintf(&b, "| %s | %s |", d.name, e)
			for i, dec := range decisions {
				sign := n.sign(dec.cells[id][e])
				if y.failed[decisionID(i)][place{doorID(id), e}] {
					sign = "✗"
				}
				b.WriteString(" " + sign + " |")
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n")
	for i, why := range n {
		fmt.Fprintf(&b, "%d. %s.\n", i+1, strings.ToUpper(why[:1])+why[1:])
	}
	b.WriteString(ownHead + renderOwn())
	return b.String()
}

// whoIs describes the principal of a door.
func whoIs(who string) string {
	switch who {
	case keyPlain:
		return "a key without admin"
	case keyStored:
		return "the same, which may call the script"
	case keyCompact, keyAuto, keyCode:
		return "the same with `mode:" + who + "`"
	}
	return "`" + who + "`"
}

// notes are the reasons of exceptions, in order of their first use.
type notes []string

func (n *notes) sign(c cell) string {
	if c.kind == "" {
		return "✓"
	}
	at := slices.Index(*n, c.why)
	if at < 0 {
		*n = append(*n, c.why)
		at = len(*n) - 1
	}
	return map[string]string{notApplicable: "–", closed: "shut", unrecorded: "✓"}[c.kind] + fmt.Sprintf(" %d", at+1)
}
