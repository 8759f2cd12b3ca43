package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
)

// Reference returns the reference page of the file in Markdown. It is generated
// from the structs that the decoder fills.
func Reference() []byte {
	var b strings.Builder
	b.WriteString(referenceIntro)
	b.WriteString(restartNote())
	section(&b, "Server", "`mcpServers.<name>`, and the same in every other shape", reflect.TypeFor[Server]())
	section(&b, "Tool", "`tools.<name>` of a server", reflect.TypeFor[ToolPolicy]())
	section(&b, "Argument", "`tools.<name>.arguments.<name>` of a server", reflect.TypeFor[Argument]())
	section(&b, "Script", "`scripts.<name>` of a server", reflect.TypeFor[Script]())
	section(&b, "Sandbox", "`sandbox` of a server, unless it is `\"on\"` or `\"off\"`", reflect.TypeFor[Sandbox]())
	section(&b, "Prompt, resource", "`prompts.<name>` and `resources.<uri>` of a server", reflect.TypeFor[Policy]())
	section(&b, "User value", "`perUser.<name>` of a server", reflect.TypeFor[UserValue]())
	section(&b, "Auth", "`auth` of a server", reflect.TypeFor[Auth]())
	section(&b, "Schema", "`schemas.<name>`; besides these, `mcpServers`", reflect.TypeFor[Schema]())
	section(&b, "Top level", "beside the servers", reflect.TypeFor[Config]())
	nested(&b, "", reflect.TypeFor[Config]())
	b.WriteString("## Keys of other programs\n\nThese keys of other programs' files work here too.\n\n| theirs | ours |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(layout.ServerNames)) {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", name, layout.ServerNames[name])
	}
	b.WriteString("| `disabled: true` | `enabled: false` |\n| `tools: [names]` | `allow` |\n| `command: [program, args]` | `command`, `args` |\n")
	b.WriteString("| `disabled_tools: [\"server.tool\"]` at the top | `deny` of that server |\n")
	for _, name := range slices.Sorted(maps.Keys(layout.TopNames)) {
		fmt.Fprintf(&b, "| `%s` at the top | `compact.%s` |\n", name, layout.TopNames[name])
	}
	b.WriteString("\n[cli.md](cli.md#error-codes) explains the codes of errors and warnings.\n")
	return []byte(b.String())
}

// section writes the table of one struct.
func section(b *strings.Builder, title, where string, t reflect.Type) {
	fmt.Fprintf(b, "## %s\n\n%s.\n\n", title, strings.ToUpper(where[:1])+where[1:])
	table(b, fieldsOf(t))
}

// commonLimits are the limits that people change most often. The page lists the
// others below them, as advanced.
var commonLimits = []string{"callIdle", "callTotal", "handshake", "drain", "clientMessage", "serverMessage", "inFlightPerServer", "sessions"}

const advancedLimits = "#### Advanced limits\n\nThe defaults protect the gateway against broken or hostile clients and servers. Few people need to change them.\n\n"

func advanced(f field) bool { return !slices.Contains(commonLimits, f.name) }

// table writes one row for each field.
func table(b *strings.Builder, fields []field) {
	b.WriteString("| key | type | default | meaning | 含义 |\n|---|---|---|---|---|\n")
	for _, f := range fields {
		row(b, f.name, f)
	}
	b.WriteString("\n")
}

// nested writes the tables of the structs inside t.
func nested(b *strings.Builder, path string, t reflect.Type) {
	for _, f := range fieldsOf(t) {
		s := f.typ
		for s.Kind() == reflect.Pointer || s.Kind() == reflect.Slice {
			s = s.Elem()
		}
		if s.Kind() != reflect.Struct || s == typeInherit || s == typeHosts {
			continue
		}
		name := document.Join(path, f.name)
		fmt.Fprintf(b, "### %s\n\n%s\n\n", name, f.doc)
		if fields := fieldsOf(s); s == reflect.TypeFor[Limits]() {
			table(b, slices.DeleteFunc(slices.Clone(fields), advanced))
			b.WriteString(advancedLimits)
			table(b, slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return !advanced(f) }))
		} else {
			table(b, fields)
		}
		nested(b, name, s)
	}
}

func row(b *strings.Builder, name string, f field) {
	kind := typeName(f)
	if len(f.enum) > 0 {
		kind = "`" + strings.Join(f.enum, "`, `") + "`"
	}
	if s := span(f); s != "" {
		kind += ", " + s
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", name, kind, cell(code(defaultText(f))), cell(f.doc), cell(f.zh))
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// cell escapes the column separator in a cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

const referenceIntro = `# Configuration

This page is generated from the code; do not edit it. The JSON Schema is in [config.schema.json](config.schema.json).

A file is JSON (comments and trailing commas allowed) or YAML, in UTF-8, at most 16 MiB. Durations are written ` + "`\"30s\"`" + `, or as a
number of milliseconds; sizes ` + "`\"10MiB\"`" + `, or as a number of bytes. An unknown key is a warning that names the nearest known key.

## Where the file is

The gateway uses the first file that exists. It merges nothing.

1. The file that ` + "`--config`" + ` names.
2. ` + "`MCP_AIO_CONFIG`" + `.
3. The program's own file: ` + "`~/.mcp-all-in-one/mcp.json`" + `; ` + "`~/.mcps-proxy/config.json`" + ` for mcps-proxy; ` + "`~/.mcpx/config.json`" + ` for mcpx.
4. ` + "`$XDG_CONFIG_HOME/mcp-all-in-one/config.yaml`" + `, then ` + "`config.json`" + ` there; on Windows in ` + "`%APPDATA%`" + `.
5. ` + "`/etc/mcp-all-in-one/config.yaml`" + `, then ` + "`config.json`" + ` there; on Windows in ` + "`%ProgramData%`" + `.

Without ` + "`HOME`" + ` the user's places are skipped. The gateway refuses a file that other users may write, because of its mode, its owner or its
folder; ` + "`--allow-insecure-config`" + ` reads it nevertheless.

A file in the working tree (` + "`.mcp-all-in-one.yaml`, `.mcp.json`, `.vscode/mcp.json`" + `, mcpx's ` + "`./config.json`" + ` and the like) is used only with
` + "`--project`" + `. The gateway reads only the servers of such a file, and starts each one after a person has approved its whole entry. mcp-all-in-one and
mcps-proxy create their file at start if it is missing; other programs do not.

## Shapes of the file

Files of other programs work here too. The gateway recognises the shape by the keys.

| shape | from |
|---|---|
| ` + "`{\"mcpServers\": {name: server}}`" + ` | most clients |
| ` + "`{\"servers\": {name: server}}`" + ` | VS Code |
| ` + "`{\"mcp_servers\": [{\"name\": ..., ...}]}`" + ` | MCPX |
| ` + "`{\"server\": ..., \"cli\": ..., \"schemas\": {name: {\"mcpServers\": {}}}, \"logging\": ...}`" + ` | mcps-proxy |
| ` + "`{name: {\"command\" or \"url\": ...}}`" + ` | a bare map |
| ` + "`{\"mcp-tester.servers\": [{\"name\": ..., ...}]}`" + ` | MCP Tester's settings |

All shapes but the fourth define the servers of the schema ` + "`default`" + `. ` + "`mcpServers`" + ` may be beside ` + "`schemas`" + `, which then has no ` + "`default`" + ` of its own; any other two
shapes in one file are refused. ` + "`mcp-all-in-one add NAME --schema work --create-schema ...`" + ` adds a schema.

## Variables

Variables work in every string, including strings in lists. The value of a variable is not expanded again.

| written | stands for |
|---|---|
| ` + "`${VAR}`, `${env:VAR}`" + ` | the environment variable |
| ` + "`${VAR:-text}`" + ` | the variable, or the text when it is unset or empty |
| ` + "`${file:path}`" + ` | the content of a file without its last line break; relative to the config file |
| ` + "`${secret:name}`" + ` | a secret that ` + "`mcp-all-in-one secret set`" + ` has stored, in an encrypted file or the keychain |
| ` + "`${userHome}`, `${workspaceFolder}`" + ` | the home directory, the working directory |
| ` + "`$${VAR}`" + ` | ` + "`${VAR}`" + ` itself |

If a variable is not defined, the gateway reports it and switches off the server that uses it; the other servers run.

## What a server inherits

A server with a command gets its ` + "`env`" + `, what ` + "`inheritEnv`" + ` names, and these variables of the gateway's environment:

- ` + "`PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `TERM`, `LANG`, `LC_*`, `TZ`, `TMPDIR`, `TEMP`, `TMP`, `XDG_*`, `DISPLAY`, `WAYLAND_DISPLAY`" + `,
  ` + "`DBUS_SESSION_BUS_ADDRESS`" + `, and on Windows those that programs need to start;
- for the network ` + "`*_PROXY`, `SSL_CERT_*`, `NODE_EXTRA_CA_CERTS`, `REQUESTS_CA_BUNDLE`" + `. Addresses of proxies keep their passwords, because every server may need them;
- for package managers and languages ` + "`NPM_CONFIG_*`, `npm_config_*`, `PIP_*`, `UV_*`, `NVM_*`, `VOLTA_HOME`, `PYENV_ROOT`, `JAVA_HOME`" + `;
- for containers ` + "`DOCKER_HOST`, `DOCKER_CONTEXT`, `DOCKER_CONFIG`, `DOCKER_CERT_PATH`, `DOCKER_TLS_VERIFY`, `CONTAINER_HOST`, `CONTAINERS_CONF`" + `,
  ` + "`CONTAINERS_REGISTRIES_CONF`, `CONTAINERS_STORAGE_CONF`, `REGISTRY_AUTH_FILE`" + `.

Variables with ` + "`KEY`, `TOKEN`, `SECRET`, `PASSWORD`" + ` or ` + "`CREDENTIAL`" + ` in their name are left out. Of ` + "`NPM_CONFIG_*`, `npm_config_*`, `PIP_*`" + ` and ` + "`UV_*`" + `, those that end in ` + "`_auth`" + `, and those
that have a name or a password in an address, are left out too unless the command is one that fetches packages: ` + "`npx`, `npm`, `pnpm`, `pnpx`, `yarn`, `bunx`, `bun`, `deno`" + `,
` + "`uvx`, `uv`, `pipx`, `docker`, `podman`, `go`, `dotnet`, `jbang`" + `. A command behind a shell (` + "`sh -c`, `cmd /c`" + `) needs ` + "`inheritEnv`" + ` for them. A server in a [sandbox](sandbox.md#what-a-confined-server-may-do) gets less.

## When the file changes

A running gateway reads its file again on SIGHUP, with ` + "`--watch`" + ` whenever it changes, on ` + "`POST /api/v1/reload`" + ` (admin scope), and after
every change that the console or a command such as ` + "`add`" + ` makes. Only what changed is touched: other servers keep their process, calls
in flight finish, and clients hear of each changed list once. A broken file changes nothing and is reported.
`

// restartNote says which changes wait for a restart.
func restartNote() string {
	return "Changes of " + listed(restarts) + " take effect at the next start, all others at once; so do those of " + listed(live) + `.
A gateway that asks for keys or tokens goes on asking until the next start.

`
}

func listed(keys []string) string {
	last := len(keys) - 1
	return "`" + strings.Join(keys[:last], "`, `") + "` and `" + keys[last] + "`"
}

// typeName returns the name of a field's type on the reference page.
func typeName(f field) string {
	t := f.typ
	switch {
	case t == typeDuration:
		return "duration"
	case f.size:
		return "size"
	case t == typeRaw:
		return "any"
	case t == typeInherit:
		return `list of names or "all"`
	case t == typeHosts:
		return "`any`, `none` or list"
	case t == typeSandbox:
		return "`off`, `on` or object"
	case t == typeSampling:
		return "text or object"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(field{typ: t.Elem(), enum: f.enum})
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "number"
	case reflect.Slice:
		return "list"
	case reflect.Map, reflect.Struct:
		return "object"
	}
	return "text"
}

// span describes the accepted range of a field.
func span(f field) string {
	switch {
	case len(f.enum) > 0:
		return ""
	case f.typ == typeDuration && f.max != "":
		lo, _ := time.ParseDuration(f.min)
		return lo.String() + " to " + f.max
	case f.max != "":
		return f.min + " to " + f.max
	}
	return ""
}

// defaultText returns the default of a field on the reference page.
func defaultText(f field) string {
	if !f.hasDef || f.def == "" {
		return ""
	}
	if json.Valid([]byte(f.def)) {
		return f.def
	}
	return strconv.Quote(f.def)
}
