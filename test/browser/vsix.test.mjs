// The extension for VS Code, as it is built: what is in the file, and that it
// works.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { newPage, result, suite } from "./lib.mjs";
import { unzip } from "./unzip.mjs";
import { editor } from "./vscode.mjs";

suite();
const root = new URL("../../", import.meta.url).pathname;
const folder = join(mkdtempSync(join(tmpdir(), "vsix-")), "extension");
const types = { ".js": "text/javascript", ".css": "text/css" };
let name, files, resources, x, log;

before(async () => {
  writeFileSync(join(root, "mcp-tester-0.0.1.vsix"), "an old one");
  log = execFileSync("make", ["vsix"], { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  [name] = readdirSync(root).filter((f) => f.endsWith(".vsix"));
  files = unzip(join(root, name));
  for (const [file, data] of files) {
    if (!file.startsWith("extension/")) continue;
    mkdirSync(dirname(join(folder, "..", file)), { recursive: true });
    writeFileSync(join(folder, "..", file), data);
  }
  // What VS Code serves to a tab: the files of the extension, nothing else.
  resources = createServer((req, res) => {
    if (req.url === "/tab") { res.setHeader("Content-Type", "text/html"); res.end(x.seen.panels[0].webview.html); return; }
    try { res.setHeader("Content-Type", types[/\.\w+$/.exec(req.url)?.[0]] ?? "text/plain"); res.end(readFileSync(join(folder, req.url))); } catch { res.statusCode = 404; res.end(); }
  });
  await new Promise((r) => resources.listen(0, "127.0.0.1", r));
  x = editor(folder, { binary: process.env.PROGRAM, autoStart: false }, `http://127.0.0.1:${resources.address().port}`);
});
after(async () => { await x?.extension.deactivate(); resources?.closeAllConnections(); resources?.close(); });

test("req/S004-24: the file, its version and its change log", () => {
  assert.deepEqual(readdirSync(root).filter((f) => f.endsWith(".vsix")), [name], "old files are cleaned away");
  assert.equal(name, `mcp-tester-${x.manifest.version}.vsix`);
  assert.equal(x.manifest.version, "1.0.1", "the patch after 1.0.0");
  const changes = files.get("extension/CHANGELOG.md").toString();
  for (const entry of ["修复无参数提示词获取失败的问题", "优化MCP协议请求参数处理"]) assert.ok(changes.includes(entry), entry);
  const manifest = files.get("extension.vsixmanifest").toString();
  assert.match(manifest, new RegExp(`Id="mcp-tester" Version="${x.manifest.version}"`));
  for (const [, path] of manifest.matchAll(/Path="([^"]+)"/g)) assert.ok(files.has(path), path);
  for (const want of ["[Content_Types].xml", "extension/package.json", "extension/out/extension.js", "extension/page/bridge.js", "extension/page/assets/app.js"]) assert.ok(files.has(want), want);
  assert.ok(![...files.keys()].some((f) => /node_modules|\.ts$|\.map$/.test(f)), "only what is needed");
  const commands = ["open", "connect", "disconnect", "listTools", "listResources", "listPrompts", "ping", "status", "clearHistory", "exportConfig", "importConfig"];
  assert.deepEqual(x.manifest.contributes.commands.map((c) => c.command), commands.map((c) => "mcp-tester." + c));
  const { autoStart, defaultTransport, servers, timeout, maxHistory, enableLogging, maxRetryAttempts, retryDelay } = Object.fromEntries(Object.entries(x.manifest.contributes.configuration.properties).map(([k, v]) => [k.replace("mcp-tester.", ""), v.default]));
  assert.deepEqual({ autoStart, defaultTransport, servers, timeout, maxHistory, enableLogging, maxRetryAttempts, retryDelay },
    { autoStart: true, defaultTransport: "stdio", servers: [], timeout: 30000, maxHistory: 100, enableLogging: false, maxRetryAttempts: 3, retryDelay: 1000 });
});

test("req/S004-25: it builds without a warning, loads, connects, and gets a prompt without arguments", async () => {
  assert.ok(!/warning|error TS/i.test(log), log);
  x.extension.activate(x.context);
  assert.deepEqual([...x.seen.commands.keys()], x.manifest.contributes.commands.map((c) => c.command));
  assert.match(x.seen.bar.at(-1), /未连接$/);
  x.seen.answers.pick = ["stdio"];
  x.seen.answers.input = [process.env.PROMPTS_COMMAND];
  x.seen.answers.warning = ["运行"];
  await x.run("connect");
  assert.deepEqual(x.seen.errors, []);
  assert.ok(x.seen.messages[0].includes(process.env.PROMPTS_COMMAND), "it says what it will run");
  assert.match(x.seen.bar.at(-1), /已连接$/);
  assert.ok(x.seen.bar.some((b) => b.endsWith("连接中")));
  await x.run("ping");
  assert.equal(x.seen.messages.at(-1), "Ping 成功！服务器响应正常。");

  const page = await newPage({ login: false });
  page.troubles.push = () => 0; // the tab is at another address than the console
  await page.exposeFunction("hostTake", (m) => { void x.seen.panels[0].take(m); });
  await page.addInitScript(() => { window.acquireVsCodeApi = () => ({ postMessage: (m) => window.hostTake(m) }); });
  const panel = x.seen.panels[0];
  panel.post = (m) => page.evaluate((m) => window.postMessage(m, "*"), m).catch(() => {});
  const thrown = [];
  page.on("pageerror", (e) => thrown.push(e.message));
  await page.goto(`http://127.0.0.1:${resources.address().port}/tab`);
  await page.locator("[data-testid=live] [data-state=live]").waitFor();
  await page.getByTestId("tab-prompts").click();
  await page.getByTestId("feature-list").getByText("greeting").first().click();
  await page.getByTestId("get-prompt").click();
  await (await result(page)).getByTestId("prompt-message").first().waitFor();
  await page.getByTestId("tab-tools").click();
  await page.getByTestId("feature-list").getByText("echo").first().click();
  await page.locator("#t_message").fill("from the editor");
  await page.getByTestId("run").click();
  await (await result(page)).getByText("from the editor").first().waitFor();
  assert.deepEqual(thrown, []);
  await page.context().close();
});

test("req/S004-26: everything else works after the installation", async () => {
  for (const [command, pick] of [["listTools", "echo"], ["listPrompts", "greeting"]]) {
    x.seen.answers.pick = [pick];
    await x.run(command);
    assert.equal(JSON.parse(x.seen.documents.at(-1)).name, pick);
  }
  await x.run("listResources");
  await x.run("status");
  assert.match(x.seen.messages.at(-1), /^已连接 .* · stdio · 20\d\d-\d\d-\d\d$/);
  const file = join(folder, "..", "mcp-servers.json");
  writeFileSync(file, JSON.stringify({ mcpServers: { a: { command: "run-a", args: ["x"], env: { K: "v" } }, b: { type: "sse", url: "http://127.0.0.1:9/sse", headers: { H: "v" } } } }));
  x.seen.answers.open = [[{ fsPath: file }]];
  await x.run("importConfig");
  assert.deepEqual(x.values.servers.map((s) => [s.name, s.type]), [["a", "stdio"], ["b", "sse"]]);
  const out = join(folder, "..", "exported.json");
  x.seen.answers.save = [{ fsPath: out }];
  await x.run("exportConfig");
  assert.deepEqual(JSON.parse(readFileSync(out, "utf8")), { mcpServers: { a: { command: "run-a", args: ["x"], env: { K: "v" } }, b: { type: "sse", url: "http://127.0.0.1:9/sse", headers: { H: "v" } } } });
  await x.run("clearHistory");
  const sent = [];
  x.seen.panels[0].post = (m) => sent.push(m);
  await x.run("disconnect");
  assert.match(x.seen.bar.at(-1), /未连接$/);
  assert.deepEqual(sent.filter((m) => m.type === "go"), [{ type: "go", path: "/ui/bench" }], "the tab leaves the session");
  assert.deepEqual(x.seen.errors, []);
  await x.run("ping");
  assert.match(x.seen.errors[0], /^未连接/);
  // A server that cannot be reached is tried again, then it is an error.
  x.values.retryDelay = 1;
  x.seen.answers.pick = ["b"];
  await x.run("connect");
  assert.match(x.seen.bar.at(-1), /错误$/);
  assert.equal(x.seen.errors.length, 2);
});

test("get/extension: without the program the tab says what is missing, and the way out", async () => {
  const y = editor(folder, { binary: join(folder, "no-such-program"), autoStart: false, language: "en" }, "http://127.0.0.1:1");
  y.extension.activate(y.context);
  assert.match(y.seen.bar.at(-1), /not connected$/, "an English window speaks English");
  await y.run("open");
  const panel = y.seen.panels[0];
  const shown = async (want) => { for (const late = Date.now() + 20000; !panel.webview.html?.includes(want); await new Promise(setImmediate)) assert.ok(Date.now() < late, panel.webview.html); };
  await shown("could not be started");
  assert.ok(panel.webview.html.includes("no-such-program"), "it names the program");
  assert.ok(panel.webview.html.includes('href="command:workbench.action.openSettings?%5B%22mcp-tester.binary%22%5D"'), "it leads to the setting");
  assert.deepEqual(panel.asked[3].enableCommandUris, ["mcp-tester.open", "workbench.action.openSettings"]);
  y.values.binary = process.env.PROGRAM;
  await y.run("open");
  await shown("page/bridge.js");
  assert.equal(y.seen.panels.length, 1, "in the same tab");
  await y.run("ping");
  assert.match(y.seen.errors.at(-1), /^Not connected/);
  await y.extension.deactivate();
});

test("get/extension: the program inside the extension is used", async () => {
  const whole = join(mkdtempSync(join(tmpdir(), "vsix-")), "extension");
  cpSync(folder, whole, { recursive: true });
  mkdirSync(join(whole, "bin"));
  const name = process.platform === "win32" ? "mcp-all-in-one.exe" : "mcp-all-in-one";
  copyFileSync(process.env.PROGRAM, join(whole, "bin", name));
  chmodSync(join(whole, "bin", name), 0o755);
  const path = process.env.PATH;
  process.env.PATH = ""; // no other is found
  try {
    const y = editor(whole, { autoStart: false }, "http://127.0.0.1:1");
    y.extension.activate(y.context);
    await y.run("clearHistory");
    assert.deepEqual(y.seen.errors, []);
    await y.extension.deactivate();
  } finally { process.env.PATH = path; }
});
