// A server of the official SDK with the tools of a cell of the matrix.
//
//   server.mjs stdio|http
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const string = { type: "string" };
const number = { type: "number" };
const tool = (name, properties) => ({ name, inputSchema: { type: "object", properties } });
const tools = [
  tool("echo", { message: string }),
  tool("ask_name", {}),
  tool("ask_model", { prompt: string }),
  tool("long_task", { seconds: number, steps: number }),
];

const later = (seconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("cancelled"));
    });
  });

async function run(server, { name, arguments: a = {}, _meta }, extra) {
  const related = { relatedRequestId: extra.requestId };
  switch (name) {
    case "echo":
      return a.message;
    case "ask_name": {
      const schema = { type: "object", properties: { name: string }, required: ["name"] };
      const answer = await server.elicitInput({ message: "Who?", requestedSchema: schema }, related);
      return `Hello, ${answer.content.name}!`;
    }
    case "ask_model": {
      const messages = [{ role: "user", content: { type: "text", text: a.prompt } }];
      return (await server.createMessage({ messages, maxTokens: 10 }, related)).content.text;
    }
    case "long_task":
      for (let progress = 1; progress <= a.steps; progress++) {
        await later(a.seconds / a.steps, extra.signal);
        const params = { progressToken: _meta.progressToken, progress };
        await extra.sendNotification({ method: "notifications/progress", params });
      }
      return `done after ${a.steps} steps`;
  }
  throw new Error(`unknown tool ${name}`);
}

function newServer() {
  const server = new Server({ name: "typescript", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, async (request, extra) => ({
    content: [{ type: "text", text: await run(server, request.params, extra) }],
  }));
  return server;
}

if (process.argv[2] === "stdio") {
  await newServer().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  const http = createServer(async (req, res) => {
    let transport = sessions.get(req.headers["mcp-session-id"]);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport),
      });
      await newServer().connect(transport);
    }
    await transport.handleRequest(req, res);
  });
  http.listen(0, "127.0.0.1", () => console.error(`listening on http://127.0.0.1:${http.address().port}`));
}
