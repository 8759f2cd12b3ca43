// The clicks of the main tasks, counted in a real page: docs/console.md says how many each takes.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { authorised } from "./authorised.mjs";
import { configured, gateway } from "./gateway.mjs";
import { api, connect, suite, toolName, visit } from "./lib.mjs";

suite();

const text = readFileSync(new URL("../../docs/console.md", import.meta.url), "utf8");
/** said is how many clicks the table says for each task. */
const said = new Map([.../## How many clicks\n([\s\S]*?)\n## /.exec(text)[1].matchAll(/^\| (.+?) \| (\d+)\b.*\|$/gm)].map(([, task, n]) => [task, Number(n)]));

let gw, guarded, call, description;

before(async () => {
  guarded = await authorised();
  const home = configured({});
  description = join(home.home, "description.txt");
  writeFileSync(description, "Pays a bill.");
  mkdirSync(join(home.home, ".cursor"));
  writeFileSync(join(home.home, ".cursor", "mcp.json"), "{}\n");
  const { registries } = JSON.parse(readFileSync(process.env.CONSOLE_CONFIG, "utf8"));
  writeFileSync(home.file, JSON.stringify({ registries, mcpServers: {
    demo: { command: process.env.PROMPTS_COMMAND.split(" ")[0], args: ["-role", "demo"] },
    changing: { command: process.execPath, args: [new URL("changing.mjs", import.meta.url).pathname, description], pin: "hold" },
    guarded: { type: "http", url: guarded.url },
  } }));
  gw = await gateway(home);
  call = await connect("clicks-client", {}, gw.url);
  await call("tools/call", { name: await toolName(call, "echo"), arguments: { message: "x" } });
  await call("tools/call", { name: await toolName(call, "fail"), arguments: {} });
});
after(async () => { await gw?.end(); guarded?.close(); });

const attention = (page, text) => page.locator(".attention-card li", { hasText: text });
const nav = (page, name) => page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: new RegExp("^" + name) }).click();
const reason = (page) => page.getByRole("link", { name: "this tool always fails" }).click();
const failed = (page) => page.locator(".vlist-rows .grid-row.tool", { hasText: "fail" }).first();

/** tasks are what a user does on the Overview, until it is done. */
const tasks = {
  "see whether there is a problem": (page) => attention(page, "guarded").waitFor(),
  "see why calls fail, and which": async (page) => { await reason(page); await failed(page).waitFor(); },
  "open a failed call": async (page) => { await reason(page); await failed(page).click(); await page.getByTestId("entry").getByRole("tab", { name: "Server side" }).waitFor(); },
  "see what happened at a spike": async (page) => {
    const box = await page.getByTestId("timeline").boundingBox();
    await page.mouse.move(box.x + box.width * 0.8, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width - 3, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await page.getByRole("link", { name: "Show these calls" }).click();
    await failed(page).waitFor();
  },
  "sign in to a server": async (page) => {
    const [tab] = await Promise.all([page.context().waitForEvent("page"), attention(page, "guarded").getByRole("button", { name: "Sign in" }).click()]);
    await tab.waitForURL(/code=/);
    await attention(page, "guarded").waitFor({ state: "detached" });
  },
  "restart a server": async (page) => {
    await nav(page, "Servers");
    await page.getByTestId("menu-demo").click();
    await page.getByRole("button", { name: "Restart" }).click();
    await page.getByText("Restarting demo").waitFor();
  },
  "add a server by its name": async (page) => {
    await page.getByRole("link", { name: "Add server" }).click();
    await page.locator("#add-search").fill("notes");
    await page.getByTestId("found-com.example/notes").click();
    await page.locator("#add-q-key").fill("team-key");
    await page.getByTestId("add-go").click();
    await page.getByTestId("added").waitFor();
  },
  "connect a client": async (page) => {
    await page.getByRole("link", { name: "Connect", exact: true }).click();
    await page.getByTestId("program-cursor").getByRole("link", { name: "Connect" }).click();
    await page.getByRole("button", { name: "Save with backup" }).click();
    await page.getByText("Backup saved to").waitFor();
  },
  "turn off unused tools": async (page) => {
    await page.getByRole("link", { name: "Trim" }).click();
    await page.getByRole("button", { name: "Select them" }).click();
    await page.getByTestId("bulk").getByRole("button", { name: "Turn off" }).click();
    await page.getByText(/^Turned off \d+ tools/).waitFor();
  },
  "see who calls a tool, and how slow it is": async (page) => {
    await nav(page, "Usage");
    await page.getByTestId("usage-rows").getByRole("button", { name: "demo echo" }).click();
    await page.getByTestId("usage-rows").getByRole("row", { name: /clicks-client.* (ms|µs|s)/ }).waitFor();
  },
  "approve a changed tool": async (page) => {
    writeFileSync(description, "Pays two bills.");
    await api(page, "POST", "servers/default/changing/restart");
    await attention(page, "changing").getByRole("link", { name: "Review" }).click();
    await page.getByRole("button", { name: "Approve these changes" }).click();
    await page.getByText("No changes since you approved").waitFor();
  },
  "answer a question": async (page) => {
    const { body } = await api(page, "POST", "bench", { target: { server: "demo", schema: "default", via: "direct" }, confirm: "", fresh: true });
    await api(page, "POST", `bench/${body.id}/calls`, { method: "tools/call", params: { name: "ask_name", arguments: {} } });
    await attention(page, "What is your name?").getByRole("link", { name: "Answer" }).click();
    const card = page.getByTestId("question-elicitation");
    await card.getByRole("textbox", { name: /name/i }).fill("Ada");
    await card.getByRole("button", { name: "Answer" }).click();
    await card.waitFor({ state: "detached" });
  },
  "make tests from recorded calls": async (page) => {
    await nav(page, "Traffic");
    await page.getByRole("link", { name: "Create tests" }).click();
    await page.getByLabel("Name", { exact: true }).fill("made");
    await page.getByRole("button", { name: "Save" }).click();
    await page.waitForURL("**/ui/tests/made");
  },
};

test("console/clicks the table names the tasks that are counted", () => assert.deepEqual([...said.keys()].sort(), Object.keys(tasks).sort()));

for (const [task, act] of Object.entries(tasks)) {
  test("console/clicks " + task, async () => {
    const page = await gw.open();
    let clicks = 0;
    await page.exposeFunction("clicked", () => { clicks++; });
    await page.addInitScript(() => addEventListener("pointerdown", (e) => { if (e.isTrusted) window.clicked(); }, true));
    await visit(page, "overview");
    await page.locator("main .skeleton").waitFor({ state: "detached" });
    await act(page);
    assert.equal(clicks, said.get(task), "clicks that the table does not say");
    assert.deepEqual(page.troubles, []);
    await page.context().close();
  });
}
