//go:build unix

package guide

import (
	"fmt"
	"slices"
	"strings"
)

// page is docs/interop.md.
func page(servers, clients []row) string {
	var b strings.Builder
	b.WriteString(`# Published servers and clients

What was run with the gateway, and how it went. ` + "`make guide`" + ` writes this page. To add one is a line in
` + "`test/guide/peers.txt`" + `.

## Servers

Each server is asked everything that changes nothing, directly and through the gateway, by clients of both eras
(` + "`compare`" + `). Keys for services are made up: what such a service refuses has to be refused in the same words.

| server | version | transport | eras | requests compared | differences |
|---|---|---|---|---|---|
`)
	for _, r := range servers {
		write(&b, r)
	}
	b.WriteString(`
## Clients

Each client lists the tools of the official ` + "`server-everything`" + ` and calls one, directly and through the gateway. The
answers and the tools have to be the same.

| client | version | stdio | HTTP |
|---|---|---|---|
`)
	for _, r := range clients {
		write(&b, r)
	}
	return b.String()
}

// replaceRows returns the page with the rows of some peers replaced.
func replaceRows(text string, rows []row) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	for _, r := range rows {
		i := 0
		if r.peer.kind == "client" {
			i = slices.Index(lines, "## Clients\n")
		}
		for ; i < len(lines); i++ {
			cells := strings.Split(lines[i], " | ")
			if cells[0] == "| "+r.peer.name() && (r.peer.kind == "client" || cells[2] == r.peer.transport()) {
				break
			}
		}
		if i == len(lines) {
			return "", fmt.Errorf("docs/interop.md has no row of %s; write the whole page with: make guide", r.peer.name())
		}
		var b strings.Builder
		write(&b, r)
		lines[i] = b.String()
	}
	return strings.Join(lines, ""), nil
}

func write(b *strings.Builder, r row) {
	fmt.Fprintf(b, "| %s | %s", r.peer.name(), r.peer.version())
	for i, cell := range r.cells {
		if i == len(r.cells)-1 && r.peer.note != "" {
			cell += " (" + r.peer.note + ")"
		}
		fmt.Fprintf(b, " | %s", strings.ReplaceAll(strings.ReplaceAll(cell, "|", "\\|"), "\n", " "))
	}
	b.WriteString(" |\n")
}
