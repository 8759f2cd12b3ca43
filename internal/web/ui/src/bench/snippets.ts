// One call as a program: with curl, and with the official SDKs. The functions
// are pure, so that tests can run the programs.
import { quote } from "../cli.ts";

/** A Way is how the program connects to the server. */
export type Way = { command: string; args: string[]; env: string[] } | { url: string; headers: string[] };

export interface SnippetCall { method: "tools/call" | "prompts/get" | "resources/read"; params: Record<string, any>; json: string; protocol: string }

export type Language = "curl" | "typescript" | "python" | "go";

const lines = (...list: (string | false | undefined)[]) => list.filter((l) => typeof l === "string").join("\n") + "\n";
const str = (s: string) => JSON.stringify(s);

/** variable is the name of the environment variable that holds a secret header. */
const variable = (header: string) => header.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");

export function snippet(language: Language, way: Way, call: SnippetCall): string {
  switch (language) {
    case "curl": return curl(way, call);
    case "typescript": return typescript(way, call);
    case "python": return python(way, call);
    case "go": return golang(way, call);
  }
}

/** curl includes the handshake, because a server may require a session. */
function curl(way: Way, call: SnippetCall): string {
  if (!("url" in way)) throw new Error("curl needs a URL");
  const own = way.headers.map((h) => ` -H "${h}: $${variable(h)}"`).join("");
  const post = (body: string, more: string) => `curl -sS ${quote(way.url)} -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream'${own}${more} -d ${quote(body)}`;
  const version = call.protocol;
  const request = `{"jsonrpc":"2.0","id":2,"method":${str(call.method)},"params":${call.json}}`;
  if (version >= "2026-07-28") {
    const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":${str(version)},"io.modelcontextprotocol/clientInfo":{"name":"curl","version":"1.0"},"io.modelcontextprotocol/clientCapabilities":{}}`;
    const body = request.replace(/"params":\{/, () => `"params":{${meta}${call.json === "{}" ? "" : ","}`);
    return lines(post(body, ` -H 'MCP-Protocol-Version: ${version}' -H 'Mcp-Method: ${call.method}' -H ${quote("Mcp-Name: " + (call.params.name ?? call.params.uri))}`));
  }
  const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":${str(version)},"capabilities":{},"clientInfo":{"name":"curl","version":"1.0"}}}`;
  const headers = ` -H "Mcp-Session-Id: $session" -H 'MCP-Protocol-Version: ${version}'`;
  return lines(
    `session=$(${post(hello, " -D - -o /dev/null")} | tr -d '\\r' | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: //p')`,
    post('{"jsonrpc":"2.0","method":"notifications/initialized"}', headers) + " -o /dev/null",
    post(request, headers));
}

const tsMethods = { "tools/call": "callTool", "prompts/get": "getPrompt", "resources/read": "readResource" } as const;

function typescript(way: Way, call: SnippetCall): string {
  const stdio = "command" in way;
  const transport = stdio
    ? `new StdioClientTransport({ command: ${str(way.command)}, args: ${JSON.stringify(way.args)}${way.env.length ? `, env: { ${way.env.map((e) => `${str(e)}: process.env[${str(e)}] ?? ""`).join(", ")} }` : ""} })`
    : `new StreamableHTTPClientTransport(new URL(${str(way.url)})${way.headers.length ? `, { requestInit: { headers: { ${way.headers.map((h) => `${str(h)}: process.env[${str(variable(h))}] ?? ""`).join(", ")} } } }` : ""})`;
  return lines(
    "// npm install @modelcontextprotocol/sdk",
    'import { Client } from "@modelcontextprotocol/sdk/client/index.js";',
    stdio ? 'import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";' : 'import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";',
    "",
    'const client = new Client({ name: "example", version: "1.0.0" });',
    `await client.connect(${transport});`,
    `const result = await client.${tsMethods[call.method]}(${call.json});`,
    "console.log(JSON.stringify(result, null, 2));",
    "await client.close();");
}

/** pyValue writes JSON as Python; only three words differ. */
export function pyValue(v: unknown): string {
  if (v === null) return "None";
  if (v === true) return "True";
  if (v === false) return "False";
  if (Array.isArray(v)) return `[${v.map(pyValue).join(", ")}]`;
  if (typeof v === "object") return `{${Object.entries(v as object).map(([k, x]) => `${str(k)}: ${pyValue(x)}`).join(", ")}}`;
  return JSON.stringify(v);
}

function python(way: Way, call: SnippetCall): string {
  const stdio = "command" in way;
  const named = call.method === "resources/read" ? `${str(call.params.uri)}` : `${str(call.params.name)}${call.params.arguments ? `, ${pyValue(call.params.arguments)}` : ""}`;
  const method = { "tools/call": "call_tool", "prompts/get": "get_prompt", "resources/read": "read_resource" }[call.method];
  const environment = stdio && way.env.length ? `, env={${way.env.map((e) => `${str(e)}: os.environ.get(${str(e)}, "")`).join(", ")}}` : "";
  const headers = !stdio && way.headers.length ? `{${way.headers.map((h) => `${str(h)}: os.environ.get(${str(variable(h))}, "")`).join(", ")}}` : "";
  return lines(
    "# pip install mcp",
    "import asyncio",
    (environment || headers) && "import os",
    "",
    "from mcp import ClientSession" + (stdio ? ", StdioServerParameters" : ""),
    stdio ? "from mcp.client.stdio import stdio_client" : "from mcp.client.streamable_http import streamable_http_client",
    headers && "import httpx",
    "",
    "",
    "async def main():",
    stdio ? `    server = StdioServerParameters(command=${str(way.command)}, args=${pyValue(way.args)}${environment})` : undefined,
    stdio ? "    async with stdio_client(server) as (read, write):" : `    async with streamable_http_client(${str(way.url)}${headers ? `, http_client=httpx.AsyncClient(headers=${headers})` : ""}) as (read, write, *_):`,
    "        async with ClientSession(read, write) as session:",
    "            await session.initialize()",
    `            result = await session.${method}(${named})`,
    "            print(result.model_dump_json(indent=2, by_alias=True, exclude_none=True))",
    "",
    "",
    "asyncio.run(main())");
}

/** goValue writes JSON as a Go literal of map[string]any. */
export function goValue(v: unknown): string {
  if (v === null) return "nil";
  if (Array.isArray(v)) return `[]any{${v.map(goValue).join(", ")}}`;
  if (typeof v === "object") return `map[string]any{${Object.entries(v as object).map(([k, x]) => `${str(k)}: ${goValue(x)}`).join(", ")}}`;
  return JSON.stringify(v);
}

function golang(way: Way, call: SnippetCall): string {
  const stdio = "command" in way;
  const p = call.params;
  const strings = (m: object) => `map[string]string{${Object.entries(m).map(([k, v]) => `${str(k)}: ${str(String(v))}`).join(", ")}}`;
  const request = call.method === "tools/call" ? `session.CallTool(ctx, &mcp.CallToolParams{Name: ${str(p.name)}${p.arguments ? `, Arguments: ${goValue(p.arguments)}` : ""}})`
    : call.method === "prompts/get" ? `session.GetPrompt(ctx, &mcp.GetPromptParams{Name: ${str(p.name)}${p.arguments ? `, Arguments: ${strings(p.arguments)}` : ""}})`
      : `session.ReadResource(ctx, &mcp.ReadResourceParams{URI: ${str(p.uri)}})`;
  const headers = !stdio && way.headers.length > 0;
  const transport = stdio ? `&mcp.CommandTransport{Command: exec.Command(${[way.command, ...way.args].map(str).join(", ")})}`
    : `&mcp.StreamableClientTransport{Endpoint: ${str(way.url)}${headers ? ", HTTPClient: &http.Client{Transport: withHeaders{}}" : ""}}`;
  return lines(
    "// go get github.com/modelcontextprotocol/go-sdk",
    "package main",
    "",
    "import (",
    '\t"context"', '\t"encoding/json"', '\t"log"', headers && '\t"net/http"', '\t"os"', stdio && '\t"os/exec"', "",
    '\t"github.com/modelcontextprotocol/go-sdk/mcp"',
    ")",
    "",
    headers && lines("type withHeaders struct{}", "", "func (withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {", "\tr = r.Clone(r.Context())",
      ...way.headers.map((h) => `\tr.Header.Set(${str(h)}, os.Getenv(${str(variable(h))}))`), "\treturn http.DefaultTransport.RoundTrip(r)", "}"),
    "func main() {",
    "\tctx := context.Background()",
    '\tclient := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1.0.0"}, nil)',
    `\tsession, err := client.Connect(ctx, ${transport}, nil)`,
    "\tif err != nil {", "\t\tlog.Fatal(err)", "\t}",
    "\tdefer session.Close()",
    `\tresult, err := ${request}`,
    "\tif err != nil {", "\t\tlog.Fatal(err)", "\t}",
    "\tout := json.NewEncoder(os.Stdout)",
    '\tout.SetIndent("", "  ")',
    "\tif err := out.Encode(result); err != nil {", "\t\tlog.Fatal(err)", "\t}",
    "}");
}
