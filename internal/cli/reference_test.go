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
	page.WriteString("\n## Error codes\n\n`mcp-all-in-one explain CODE` prints the same.\n\n| code | meaning | 含义 |\n|---|---|---|\n")
	for _, code := range env.Codes() {
		e, _ := env.Explain(code)
		fmt.Fprintf(&page, "| %s | %s | %s |\n", code, strings.ReplaceAll(e.EN, "|", "\\|"), strings.ReplaceAll(e.ZH, "|", "\\|"))
	}
	page.WriteString("\n## Commands\n\nThe output of `--help`, without the flags that all commands have (see [mcp-all-in-one](#mcp-all-in-one)) and the [connection flags](#connection-flags).\n")
	var connection string
	for _, name := range []string{"mcp-all-in-one", "mcps-proxy", "mcpx", "mcpx-sse", "mcp-tester"} {
		var all bytes.Buffer
		writeAllHelp(&all, roots()[name](&env.Env{Personality: env.Personalities()[name]}), name, "en")
		for help := range strings.SplitSeq("\n"+strings.TrimSpace(all.String()), "\n$ ") {
			line, text, _ := strings.Cut(help, "\n")
			if text == "" {
				continue
			}
			text, _ = without(text, "General flags")
			text, flags := without(text, "Connection flags")
			connection = longer(connection, flags)
			title := strings.TrimPrefix(strings.TrimSuffix(line, " --help"), "mcp-all-in-one ")
			fmt.Fprintf(&page, "\n### %s\n\n```text\n%s\n```\n", title, strings.TrimSpace(text))
		}
	}
	fmt.Fprintf(&page, "\n## Connection flags\n\nCommands that connect to a server have these, or some of them.\n\n```text\n%s\n```\n", connection)
	golden(t, filepath.Join("..", "..", "docs", "cli.md"), page.Bytes())
}

// without returns a help text without one of its sections, and the lines of
// that section.
func without(help, title string) (rest, section string) {
	before, after, found := strings.Cut(help, "\n"+title+"\n")
	if !found {
		return help, ""
	}
	section, after, _ = strings.Cut(after, "\n\n")
	return before + "\n" + after, strings.Trim(section, "\n")
}

func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}

const referenceHead = "# The command line\n" + `
One binary with several names. ` + "`make install`" + ` creates the names; the first argument works too:
` + "`mcp-all-in-one mcpx config.json`" + ` is ` + "`mcpx config.json`" + `.

| name | what it is | default config file | port |
|---|---|---|---|
| ` + "`mcp-all-in-one`" + ` | the gateway and the tester | ` + "`~/.mcp-all-in-one/mcp.json`" + ` | 3095 |
| ` + "`mcps-proxy`, `mcps_proxy`" + ` | groups of servers over HTTP, or one group over stdio | ` + "`~/.mcps-proxy/config.json`" + ` | 3095 |
| ` + "`mcpx`" + ` | all tools behind two, ` + "`inspect` and `exec`" + `, over stdio | ` + "`~/.mcpx/config.json`" + ` | |
| ` + "`mcpx-sse`" + ` | the same over HTTP, at ` + "`/mcp/`" + ` | ` + "`~/.mcpx/config.json`" + ` | 8000 |
| ` + "`mcp-tester`" + ` | a tester for MCP servers in the browser | none needed | 3095 |

## Which config file

` + "`--config FILE`" + `, else ` + "`MCP_AIO_CONFIG`" + `, else the default file of the table above; [config.md](config.md#where-the-file-is) has all
places. ` + "`mcp-all-in-one config path`" + ` prints the file in use. The config file of a project is used with ` + "`--project`" + ` only.

## Output

Results go to standard output, everything else to standard error. Lists are tables on a terminal, and lines with tabs and
without a header in a pipe. ` + "`--json`" + ` writes JSON, errors included. ` + "`NO_COLOR`" + ` turns colours off.

The first of ` + "`MCP_AIO_LANG`, `LC_ALL`, `LC_MESSAGES` and `LANG`" + ` that is set chooses the language: ` + "`zh_CN.UTF-8`, or just `zh`" + `, is
Simplified Chinese, everything else is English. It applies to help, errors and tables on a terminal, but not to ` + "`--validate-mcp-config`" + `,
` + "`--show-mcp-config` and `--set-mcp-config`" + `, which print the Chinese texts of the original program. Logs, messages to MCP
clients and the states of servers in a pipe are English; in JSON, the errors of servers stand in both languages (` + "`error`, `errorZH`" + `).

## A running gateway

Commands find a gateway that runs with the same config file, and use it, through a socket that only its user can open. They need
no key. Without a running gateway ` + "`status`, `list` and `call`" + ` start the servers for a moment.

## Exit codes

| code | meaning |
|---|---|
| 0 | success |
| 1 | any other error |
| 2 | the command line, the config file or the arguments are wrong |
| 3 | the server requires a sign-in |
| 4 | a server cannot be reached, or did not start |
| 5 | the tool failed or is unknown, or the server answered with an error |
| 6 | an answer breaks its output schema, or ` + "`lint`" + ` found errors |
| 7 | a test failed, or something differs |
| 8 | it took too long, or was cancelled |
| 9 | the gateway refused the call |
| 10 | a question has to be answered first |
| 130 | interrupted |
| 141 | the reader of the output has gone, as with ` + "`\\| head`" + ` |

` + "`mcps-proxy`, `mcpx` and `mcpx-sse`" + ` end with 1 for every error, as the original programs do.
`
