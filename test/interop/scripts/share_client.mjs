// The official TypeScript clients sign in to a gateway that shares itself. Arguments:
// era, URL. Prints the address that a browser would open, reads the address to
// which the browser was sent back, then lists the tools and calls one of each
// kind. Prints a report.
import { createInterface } from "node:readline/promises";

const [era, url] = process.argv.slice(2);
const modern = era === "modern";
const { Client } = await import(modern ? "@modelcontextprotocol/client" : "@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = await import(modern ? "@modelcontextprotocol/client" : "@modelcontextprotocol/sdk/client/streamableHttp.js");

const back = "http://127.0.0.1:33418/callback";
const kept = {};
const authProvider = {
  redirectUrl: back,
  clientMetadata: { client_name: "TypeScript client", redirect_uris: [back], scope: "admin", token_endpoint_auth_method: "none" },
  state: () => "the-state",
  clientInformation: () => kept.client,
  saveClientInformation: (c) => { kept.client = c; },
  tokens: () => kept.tokens,
  saveTokens: (t) => { kept.tokens = t; },
  saveCodeVerifier: (v) => { kept.verifier = v; },
  codeVerifier: () => kept.verifier,
  redirectToAuthorization: (u) => console.log(String(u)),
};
const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  const client = new Client({ name: "interop", version: "1.0.0" }, modern ? { versionNegotiation: { mode: "auto" } } : undefined);
  try {
    await client.connect(transport);
    return client;
  } catch (e) {
    if (!kept.verifier || kept.tokens) throw e;
    const sent = new URL(await createInterface({ input: process.stdin }).question(""));
    if (sent.searchParams.get("state") !== "the-state") throw new Error("another state: " + sent);
    await (modern ? transport.finishAuth(sent.searchParams) : transport.finishAuth(sent.searchParams.get("code")));
    return connect();
  }
};
const text = async (name, args) => {
  try {
    return (await client.callTool({ name, arguments: args })).content[0].text;
  } catch (e) {
    return "refused: " + e.message;
  }
};
const client = await connect();
const report = { tools: (await client.listTools()).tools.map((t) => t.name), scope: kept.tokens.scope, add: await text("demo__add", { a: 19, b: 23 }), echo: await text("demo__echo", { message: "hi" }) };
console.log(JSON.stringify(report));
process.exit(0);
