// A server of the official SDK with tasks of 2025-11-25, on stdio: one that tells
// its progress, one that asks, one that never ends.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/index.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";

const step = () => new Promise((resolve) => setTimeout(resolve, 150));
const server = new McpServer(
  { name: "tasks", version: "1.0.0" },
  {
    capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore: new InMemoryTaskStore(),
    taskMessageQueue: new InMemoryTaskMessageQueue(),
  },
);

function tool(name, taskSupport, work) {
  server.experimental.tasks.registerToolTask(name, { description: name, execution: { taskSupport } }, {
    async createTask(extra) {
      const task = await extra.taskStore.createTask({ ttl: 300_000, pollInterval: 50 });
      work(task.taskId, extra)
        .then((text) => extra.taskStore.storeTaskResult(task.taskId, "completed", { content: [{ type: "text", text }] }))
        .catch((e) => console.error(name, e));
      return { task };
    },
    getTask: (extra) => extra.taskStore.getTask(extra.taskId),
    getTaskResult: (extra) => extra.taskStore.getTaskResult(extra.taskId),
  });
}

tool("work", "optional", async (taskId, extra) => {
  for (let progress = 1; progress <= 3; progress++) {
    await step();
    const progressToken = extra._meta?.progressToken;
    if (progressToken !== undefined) {
      await server.server.notification({ method: "notifications/progress", params: { progressToken, progress, total: 3, message: `step ${progress}` } });
    }
  }
  await step();
  return "worked";
});

tool("ask", "required", async (taskId, extra) => {
  const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  const question = { method: "elicitation/create", params: { message: "Who are you?", requestedSchema } };
  const answer = await extra.sendRequest(question, ElicitResultSchema, { relatedTask: { taskId } });
  return `Hello, ${answer.content?.name}!`;
});

tool("forever", "required", () => new Promise(() => {}));

await server.connect(new StdioServerTransport());
