// A server over HTTP that wants a sign-in, and the authorization server beside
// it, which consents to everything.
import { createServer } from "node:http";

const body = async (req) => { let s = ""; for await (const part of req) s += part; return s; };

export async function authorised() {
  let codes = 0;
  const server = createServer(async (req, res) => {
    const base = `http://127.0.0.1:${server.address().port}`;
    const url = new URL(req.url, base);
    const json = (value, status = 200, headers = {}) => { res.writeHead(status, { "Content-Type": "application/json", ...headers }); res.end(JSON.stringify(value)); };
    if (url.pathname.startsWith("/.well-known/oauth-protected-resource")) return json({ resource: base + "/mcp", authorization_servers: [base] });
    if (url.pathname.startsWith("/.well-known/")) return json({ issuer: base, authorization_endpoint: base + "/authorize", token_endpoint: base + "/token", registration_endpoint: base + "/register",
      response_types_supported: ["code"], grant_types_supported: ["authorization_code"], code_challenge_methods_supported: ["S256"], token_endpoint_auth_methods_supported: ["none"] });
    if (url.pathname === "/register") return json({ ...JSON.parse(await body(req)), client_id: "client-1", token_endpoint_auth_method: "none" }, 201);
    if (url.pathname === "/authorize") {
      const back = new URL(url.searchParams.get("redirect_uri"));
      back.searchParams.set("code", "code-" + ++codes);
      back.searchParams.set("state", url.searchParams.get("state"));
      res.writeHead(302, { Location: back.href });
      return res.end();
    }
    if (url.pathname === "/token") return json({ access_token: "good", token_type: "Bearer", expires_in: 3600 });
    if (req.headers.authorization !== "Bearer good") return json({}, 401, { "WWW-Authenticate": `Bearer resource_metadata="${base}/.well-known/oauth-protected-resource/mcp"` });
    const m = JSON.parse(await body(req) || "{}");
    const results = { initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "guarded", version: "1" } }, "tools/list": { tools: [{ name: "secret_tool", inputSchema: { type: "object" } }] }, ping: {} };
    if (m.id === undefined) { res.writeHead(202); return res.end(); }
    return json(results[m.method] ? { jsonrpc: "2.0", id: m.id, result: results[m.method] } : { jsonrpc: "2.0", id: m.id, error: { code: -32601, message: "no such method" } });
  });
  await new Promise((r) => server.listen(0, "127.0.0.1", r));
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, close: () => { server.closeAllConnections(); server.close(); } };
}
