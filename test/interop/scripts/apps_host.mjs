// A host of MCP Apps, made of the official SDK: it opens the interface of every
// tool that has one, lets the interface read its own resource through the host,
// and prints what it saw as one JSON object.
//
//   apps_host.mjs URL
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, getToolUiResourceUri, RESOURCE_MIME_TYPE } from "@modelcontextprotocol/ext-apps/app-bridge";
import { App } from "@modelcontextprotocol/ext-apps";

const client = new Client(
  { name: "host", version: "1.0.0" },
  { capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } } } },
);

// open shows one interface: the page as the host reads it, and as the page itself
// reads it through the host.
async function open(tool) {
  const uri = getToolUiResourceUri(tool); // throws for what is no ui:// address
  if (!uri) return undefined;
  const [page] = (await client.readResource({ uri })).contents;
  const bridge = new AppBridge(client, { name: "host", version: "1.0.0" }, { serverResources: {}, serverTools: {} });
  const app = new App({ name: "view", version: "1.0.0" }, {}, { autoResize: false });
  const [inside, outside] = InMemoryTransport.createLinkedPair();
  await bridge.connect(outside);
  await app.connect(inside);
  const [again] = (await app.readServerResource({ uri })).contents;
  const listed = (await app.listServerResources()).resources.map((r) => r.uri);
  const result = await client.callTool({ name: tool.name, arguments: {} });
  await app.close();
  await bridge.close();
  return {
    tool: tool.name, uri, read: page.uri, mimeType: page.mimeType, size: page.text.length,
    same: again.uri === page.uri && again.text === page.text, listed: listed.includes(uri), failed: result.isError === true,
  };
}

const seen = { apps: [] };
try {
  await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
  for (const tool of (await client.listTools()).tools) {
    const app = await open(tool);
    if (app) seen.apps.push(app);
  }
  await client.close();
} catch (e) {
  seen.error = String(e?.stack ?? e);
}
console.log(JSON.stringify(seen));
