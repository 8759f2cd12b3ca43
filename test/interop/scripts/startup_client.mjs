// The official TypeScript clients against a server that takes its time to start:
// connects, lists, calls demo__echo, lists again, and prints the last list and the
// text.
//
//   startup_client.mjs typescript legacy|modern COMMAND ARGS...
const [, era, command, ...args] = process.argv.slice(2);
const info = { name: "interop", version: "1.0.0" };

async function connect() {
  const env = process.env;
  if (era === "legacy") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const client = new Client(info);
    await client.connect(new StdioClientTransport({ command, args, env }));
    return client;
  }
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const client = new Client(info, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StdioClientTransport({ command, args, env }));
  return client;
}

const client = await connect();
await client.listTools();
const result = await client.callTool({ name: "demo__echo", arguments: { message: "hello" } });
const tools = (await client.listTools()).tools.map((t) => t.name);
await client.close();
console.log(JSON.stringify({ tools, text: result.content[0].text }));
process.exit(0);
