// Servers of the settings, as the console knows targets and as clients know
// entries.

export type Transport = "stdio" | "sse" | "streamable http";
export interface SavedServer { name: string; type?: Transport; command?: string; args?: string[]; url?: string; env?: Record<string, string>; customHeaders?: Record<string, string> }

/** targetOf is what the console connects to. */
export function targetOf(s: SavedServer): Record<string, unknown> {
  const identity = { clientName: "mcp-tester-vscode", clientVersion: "1.0.0" };
  if (s.command) return { command: s.command, args: s.args ?? [], env: s.env, ...identity };
  return { type: s.type === "sse" ? "sse" : "http", url: s.url, headers: s.customHeaders, ...identity };
}

/** exported is the shape that most clients read. */
export function exported(list: SavedServer[]): { mcpServers: Record<string, unknown> } {
  return { mcpServers: Object.fromEntries(list.map((s) => [s.name, s.command
    ? { command: s.command, args: s.args ?? [], ...(s.env ? { env: s.env } : {}) }
    : { type: s.type === "sse" ? "sse" : "http", url: s.url, ...(s.customHeaders ? { headers: s.customHeaders } : {}) }])) };
}

/** imported reads what exported wrote, and what other clients write. */
export function imported(text: string): SavedServer[] {
  const file = JSON.parse(text);
  const entries = file.mcpServers ?? file.servers;
  if (typeof entries !== "object" || entries === null) throw new Error("the file has no mcpServers");
  return Object.entries<any>(entries).map(([name, e]) => (e.command
    ? { name, type: "stdio", command: e.command, args: e.args ?? [], env: e.env }
    : { name, type: e.type === "sse" ? "sse" : "streamable http", url: e.url, customHeaders: e.headers ?? e.customHeaders }));
}
