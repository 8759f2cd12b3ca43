package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/env"
)

// TestReference compares the documentation of the command line with the
// commands.
func TestReference(t *testing.T) {
	var page bytes.Buffer
	page.WriteString(referenceHead)
	fmt.Fprintf(&page, "\n## Error codes\n\nAs `mcp-all-in-one explain CODE` says it.\n\n| code | meaning |\n|---|---|\n")
	for _, code := range env.Codes() {
		e, _ := env.Explain(code)
		fmt.Fprintf(&page, "| %s | %s |\n", code, strings.ReplaceAll(e.EN, "|", "\\|"))
	}
	page.WriteString("\n## Every command\n\nAs `--help` prints it.\n")
	for _, name := range []string{"mcp-all-in-one", "mcps-proxy", "mcpx", "mcpx-sse", "mcp-tester"} {
		p := env.Personalities()[name]
		var help bytes.Buffer
		writeAllHelp(&help, roots()[name](&env.Env{Personality: p}), name, "en")
		fmt.Fprintf(&page, "\n### %s\n\n```text\n%s\n```\n", name, strings.TrimSpace(help.String()))
	}
	golden(t, filepath.Join("..", "..", "docs", "cli.md"), page.Bytes())
}

const referenceHead = "# The command line\n" + `
One binary, called by several names. ` + "`make install`" + ` puts the names in place; the first argument works too:
` + "`mcp-all-in-one mcpx config.json`" + ` is ` + "`mcpx config.json`" + `.

| name | is | default file | port |
|---|---|---|---|
| ` + "`mcp-all-in-one`" + ` | the gateway and the tester | ` + "`~/.mcp-all-in-one/mcp.json`" + ` | 3095 |
| ` + "`mcps-proxy`, `mcps_proxy`" + ` | groups of servers over HTTP, or one group over stdio | ` + "`~/.mcps-proxy/config.json`" + ` | 3095 |
| ` + "`mcpx`" + ` | two tools for all, over stdio | ` + "`~/.mcpx/config.json`" + ` | |
| ` + "`mcpx-sse`" + ` | the same over HTTP, at ` + "`/mcp/`" + ` | ` + "`~/.mcpx/config.json`" + ` | 8000 |
| ` + "`mcp-tester`" + ` | the console in the browser | none needed | 3095 |

## Which config file

The flag; ` + "`MCP_AIO_CONFIG`" + `; the file of the table above; ` + "`$XDG_CONFIG_HOME/mcp-all-in-one/config.yaml`" + ` or ` + "`.json`" + `;
` + "`/etc/mcp-all-in-one`" + `. The first one found is used, nothing is merged. A file in the working tree is used with
` + "`--project`" + ` only, and its servers start after ` + "`mcp-all-in-one approve`" + `.

## Output

Results go to standard output, everything else to standard error. On a terminal lists are tables; behind a pipe they are
columns between tabs, without a head. ` + "`--json`" + ` writes JSON, errors included. Colour is for terminals; ` + "`NO_COLOR`" + ` turns
it off.

Help, errors, hints, and the reasons why a server is down are English or Simplified Chinese by ` + "`MCP_AIO_LANG`, `LC_ALL`" + `,
` + "`LC_MESSAGES`" + ` or ` + "`LANG`" + `, the first that is set. What a server or the system says itself stays as it is, inside a sentence in
your language; the usual reasons of the system (no such file, connection refused, address in use, ...) are translated. The states
of servers and keys are translated in tables on a terminal, and are the same words in every language behind a pipe. Logs,
what clients get over MCP, and ` + "`--json`" + ` are English for programs: where JSON carries a text for people, ` + "`error`" + ` has an
` + "`errorZH`" + ` beside it, ` + "`message`" + ` a ` + "`messageZH`" + `, and so on.

## A running gateway

` + "`status`, `list`, `restart`, `approve`, `ui`, `traffic`, `inbox`, the tester" + ` and every command that changes the file reach a gateway that runs with the same
file through a socket that only its user can open. Without one, ` + "`status`" + ` starts the servers for a moment.

## Exit codes

| code | meaning | code | meaning |
|---|---|---|---|
| 0 | fine | 6 | a schema or a lint rule is broken |
| 1 | something else went wrong | 7 | a test failed, or a difference was found |
| 2 | usage, or the config file | 8 | out of time, or cancelled |
| 3 | a login is needed | 9 | refused |
| 4 | a server is down | 10 | somebody has to answer first |
| 5 | the tool failed, or is unknown | 130 | interrupted |
| | | 141 | nobody reads the output any more |

` + "`mcps-proxy`, `mcpx` and `mcpx-sse`" + ` end with 1 for every error of theirs, as they always did.
`
