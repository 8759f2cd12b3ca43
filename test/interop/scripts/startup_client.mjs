// The official TypeScript clients against gateways whose servers take their time to
// start. Reads [{era, command}] from standard input and runs them all at once: each
// connects, lists, calls demo__echo and lists again. Prints the last list and the text
// of each, or its error.
import { text } from "node:stream/consumers";

const info = { name: "interop", version: "1.0.0" };

async function connect(era, [command, ...args]) {
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

async function seen({ era, command }) {
  try {
    const client = await connect(era, command);
    await client.listTools();
    const result = await client.callTool({ name: "demo__echo", arguments: { message: "hello" } });
    const tools = (await client.listTools()).tools.map((t) => t.name);
    await client.close();
    return { tools, text: result.content[0].text };
  } catch (e) {
    return { error: String(e) };
  }
}

console.log(JSON.stringify(await Promise.all(JSON.parse(await text(process.stdin)).map(seen))));
process.exit(0);
