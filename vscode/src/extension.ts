// MCP Tester: shows the console of mcp-all-in-one in an editor tab.
import { createReadStream, existsSync, statSync, unwatchFile, watchFile } from "node:fs";
import * as vscode from "vscode";
import { Gateway } from "./gateway.ts";
import { Connection } from "./connection.ts";
import { exported, imported, type SavedServer } from "./servers.ts";
import { failure, html, openSettings, serve } from "./tab.ts";

const setting = <T>(name: string): T => vscode.workspace.getConfiguration("mcp-tester").get<T>(name)!;

/** say is a text in the language of the window. */
const say = (english: string, chinese: string): string => vscode.env.language.toLowerCase().startsWith("zh") ? chinese : english;

let inside = ""; // the program that this extension carries
let running: Promise<Gateway> | undefined;
let channel: vscode.OutputChannel | undefined;

/** gateway is the running program, which all windows share; it is started when it is first needed, and again when it ended. */
async function gateway(): Promise<Gateway> {
  const last = running;
  const g = await last?.catch(() => undefined);
  if (g?.alive) return g;
  if (running !== last) return gateway(); // another command joins already
  const binary = setting<string>("binary") || (existsSync(inside) ? inside : "mcp-all-in-one");
  const mine = running = Gateway.join(binary);
  try {
    const joined = await mine;
    if (setting<boolean>("enableLogging")) follow(joined.log);
    return joined;
  } catch (e) {
    if (running === mine) running = undefined;
    const why = e instanceof Error ? e.message : String(e);
    throw new Error(say(`${binary} could not be started: ${why}. Install mcp-all-in-one, or set mcp-tester.binary to its path.`,
      `无法启动 ${binary}：${why}。请安装 mcp-all-in-one，或将 mcp-tester.binary 设为其路径。`));
  }
}

let followed = "";

/** follow shows the log of the tester, from here on, in the output channel. */
function follow(file: string): void {
  if (followed === file) return;
  if (followed) unwatchFile(followed);
  followed = file;
  const out = channel ??= vscode.window.createOutputChannel("MCP Tester");
  let at = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  watchFile(file, { interval: 500 }, ({ size }) => {
    if (size < at) at = 0; // it began anew
    if (size > at) createReadStream(file, { start: at, end: size - 1, encoding: "utf8" }).on("data", (text) => out.append(String(text)));
    at = size;
  });
}

let tab: vscode.WebviewPanel | undefined;
let broken = false; // the tab shows why there is no page

/** show opens the tab, or brings it to the front, at a screen of the console. */
function show(context: vscode.ExtensionContext, path: string): void {
  if (tab) {
    tab.reveal();
    if (broken) void fill(context, tab.webview, path);
    else void tab.webview.postMessage({ type: "go", path });
    return;
  }
  const root = vscode.Uri.joinPath(context.extensionUri, "page");
  tab = vscode.window.createWebviewPanel("mcp-tester", "MCP Tester", vscode.ViewColumn.Active, { enableScripts: true, enableCommandUris: ["mcp-tester.open", openSettings(!!vscode.env.remoteName)], retainContextWhenHidden: true, localResourceRoots: [root] });
  const { webview } = tab;
  const end = serve(gateway, (m) => void webview.postMessage(m));
  webview.onDidReceiveMessage((m) => void end.take(m));
  tab.onDidDispose(() => { end.end(); tab = undefined; });
  void fill(context, webview, path);
}

/** fill shows the console in a tab, or why the program does not run and what to do. */
async function fill(context: vscode.ExtensionContext, webview: vscode.Webview, path: string): Promise<void> {
  try {
    await gateway();
    broken = false;
    webview.html = html((file) => webview.asWebviewUri(vscode.Uri.joinPath(context.extensionUri, ...file.split("/"))).toString(), webview.cspSource, path);
  } catch (e) {
    broken = true;
    webview.html = failure(e instanceof Error ? e.message : String(e), say("Open the setting", "打开设置"), say("Try again", "重试"), !!vscode.env.remoteName);
  }
}

/** document shows a value as a JSON document. */
async function document(value: unknown): Promise<void> {
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: "json", content: JSON.stringify(value, null, 2) }));
}

export function activate(context: vscode.ExtensionContext): void {
  inside = vscode.Uri.joinPath(context.extensionUri, "bin", process.platform === "win32" ? "mcp-all-in-one.exe" : "mcp-all-in-one").fsPath;
  const bar = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Right, 100);
  bar.command = "mcp-tester.status";
  const connection = new Connection(gateway, { timeout: () => setting("timeout"), attempts: () => setting("maxRetryAttempts"), delay: () => setting("retryDelay") }, say,
    (text) => { bar.text = "$(plug) MCP " + text; });
  bar.show();
  const command = (name: string, run: () => Promise<unknown> | unknown) => context.subscriptions.push(vscode.commands.registerCommand("mcp-tester." + name, async () => {
    try { await run(); } catch (e) { void vscode.window.showErrorMessage(e instanceof Error ? e.message : String(e)); }
  }));
  context.subscriptions.push(bar, { dispose: () => { if (followed) unwatchFile(followed); channel?.dispose(); } });

  command("open", () => show(context, connection.screen()));
  command("connect", async () => {
    const chosen = await choose();
    if (!chosen) return;
    await connection.connect(chosen, async (run) => {
      const yes = say("Run it", "运行");
      return (await vscode.window.showWarningMessage(say(`This will run: ${run}`, `将要运行：${run}`), { modal: true }, yes)) === yes;
    });
    show(context, connection.screen());
  });
  command("disconnect", async () => {
    await connection.disconnect();
    void tab?.webview.postMessage({ type: "go", path: connection.screen() });
  });
  for (const [name, kind] of [["listTools", "tools"], ["listResources", "resources"], ["listPrompts", "prompts"]] as const) {
    command(name, async () => {
      const items = await connection.list(kind);
      const picked = await vscode.window.showQuickPick(items.map((item) => ({ label: item.title ?? item.name ?? item.uri, description: item.uri ?? item.name, detail: item.description, item })), { placeHolder: kind, matchOnDetail: true });
      if (picked) await document(picked.item);
    });
  }
  command("ping", async () => { await connection.ping(); void vscode.window.showInformationMessage(say("The server answers.", "Ping 成功！服务器响应正常。")); });
  command("status", () => void vscode.window.showInformationMessage(connection.describe()));
  command("clearHistory", async () => { await (await gateway()).call("DELETE", "runs"); void vscode.window.showInformationMessage(say("The history is empty.", "历史记录已清空。")); });
  command("exportConfig", exportConfig);
  command("importConfig", importConfig);
  if (setting<boolean>("autoStart")) void gateway().catch((e) => { bar.tooltip = String(e); });
}

/** choose asks for a saved server, or for where another one is. */
async function choose(): Promise<SavedServer | undefined> {
  const saved = setting<SavedServer[]>("servers"), first = setting<string>("defaultTransport");
  const transports = ["stdio", "sse", "streamable http"].sort((a, b) => Number(b === first) - Number(a === first));
  const picked = await vscode.window.showQuickPick([...saved.map((server) => ({ label: server.name, description: server.command ?? server.url, server })), ...transports.map((type) => ({ label: type, description: undefined, server: undefined }))], { placeHolder: say("Server or transport", "服务器或传输方式") });
  if (!picked || picked.server) return picked?.server;
  const type = picked.label as SavedServer["type"];
  if (type === "stdio") {
    const line = await vscode.window.showInputBox({ prompt: say("Command and arguments", "命令和参数"), placeHolder: "npx -y @modelcontextprotocol/server-everything" });
    const [command, ...args] = (line ?? "").trim().split(/\s+/);
    return command ? { name: command, type, command, args } : undefined;
  }
  const url = await vscode.window.showInputBox({ prompt: "URL", placeHolder: "https://example.com/mcp" });
  return url ? { name: url, type, url } : undefined;
}

async function exportConfig(): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const to = await vscode.window.showSaveDialog({ defaultUri: folder && vscode.Uri.joinPath(folder, "mcp-servers.json"), filters: { JSON: ["json"] } });
  if (!to) return;
  const list = setting<SavedServer[]>("servers");
  await vscode.workspace.fs.writeFile(to, new TextEncoder().encode(JSON.stringify(exported(list), null, 2) + "\n"));
  void vscode.window.showInformationMessage(say(`Servers written to ${to.fsPath}: ${list.length}`, `已将 ${list.length} 个服务器写入 ${to.fsPath}`));
}

async function importConfig(): Promise<void> {
  const from = await vscode.window.showOpenDialog({ canSelectMany: false, filters: { JSON: ["json"] } });
  if (!from?.[0]) return;
  const more = imported(new TextDecoder().decode(await vscode.workspace.fs.readFile(from[0])));
  const names = new Set(more.map((s) => s.name));
  const kept = setting<SavedServer[]>("servers").filter((s) => !names.has(s.name));
  await vscode.workspace.getConfiguration("mcp-tester").update("servers", [...kept, ...more], vscode.ConfigurationTarget.Global);
  void vscode.window.showInformationMessage(say(`Servers imported: ${more.length}`, `已导入 ${more.length} 个服务器。`));
}

export async function deactivate(): Promise<void> { await (await running?.catch(() => undefined))?.stop(); }
