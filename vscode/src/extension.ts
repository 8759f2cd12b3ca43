// MCP Tester: starts mcp-all-in-one and shows its console in an editor tab.
import * as vscode from "vscode";
import { Gateway } from "./gateway.ts";
import { Connection } from "./connection.ts";
import { exported, imported, type SavedServer } from "./servers.ts";
import { html, serve } from "./tab.ts";

const setting = <T>(name: string): T => vscode.workspace.getConfiguration("mcp-tester").get<T>(name)!;

let running: Promise<Gateway> | undefined;
let channel: vscode.OutputChannel | undefined;

/** gateway is the running program; it is started when it is first needed, and again when it ended. */
async function gateway(): Promise<Gateway> {
  const g = await running?.catch(() => undefined);
  if (g?.alive) return g;
  const log = (line: string) => { if (setting<boolean>("enableLogging")) (channel ??= vscode.window.createOutputChannel("MCP Tester")).appendLine(line); };
  running = Gateway.start(setting<string>("binary"), log);
  try { return await running; } catch (e) {
    running = undefined;
    throw new Error(`mcp-all-in-one could not be started (setting mcp-tester.binary): ${e instanceof Error ? e.message : e}`);
  }
}

let tab: vscode.WebviewPanel | undefined;

/** show opens the tab, or brings it to the front, at a screen of the console. */
function show(context: vscode.ExtensionContext, path: string): void {
  if (tab) {
    tab.reveal();
    void tab.webview.postMessage({ type: "go", path });
    return;
  }
  const root = vscode.Uri.joinPath(context.extensionUri, "page");
  tab = vscode.window.createWebviewPanel("mcp-tester", "MCP Tester", vscode.ViewColumn.Active, { enableScripts: true, retainContextWhenHidden: true, localResourceRoots: [root] });
  const { webview } = tab;
  const end = serve(gateway, (m) => void webview.postMessage(m));
  webview.onDidReceiveMessage((m) => void end.take(m));
  tab.onDidDispose(() => { end.end(); tab = undefined; });
  webview.html = html((file) => webview.asWebviewUri(vscode.Uri.joinPath(context.extensionUri, ...file.split("/"))).toString(), webview.cspSource, path);
}

/** document shows a value as a JSON document. */
async function document(value: unknown): Promise<void> {
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ language: "json", content: JSON.stringify(value, null, 2) }));
}

export function activate(context: vscode.ExtensionContext): void {
  const bar = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Right, 100);
  bar.command = "mcp-tester.status";
  const connection = new Connection(gateway, { timeout: () => setting("timeout"), attempts: () => setting("maxRetryAttempts"), delay: () => setting("retryDelay") },
    (text) => { bar.text = "$(plug) MCP " + text; });
  bar.show();
  const command = (name: string, run: () => Promise<unknown> | unknown) => context.subscriptions.push(vscode.commands.registerCommand("mcp-tester." + name, async () => {
    try { await run(); } catch (e) { void vscode.window.showErrorMessage(e instanceof Error ? e.message : String(e)); }
  }));
  context.subscriptions.push(bar, { dispose: () => { void running?.then((g) => g.stop(), () => undefined); channel?.dispose(); } });

  command("open", () => show(context, connection.screen()));
  command("connect", async () => {
    const chosen = await choose();
    if (!chosen) return;
    await connection.connect(chosen, async (run) => (await vscode.window.showWarningMessage(`This will run: ${run}`, { modal: true }, "Run it")) === "Run it");
    show(context, connection.screen());
  });
  command("disconnect", () => connection.disconnect());
  for (const [name, kind] of [["listTools", "tools"], ["listResources", "resources"], ["listPrompts", "prompts"]] as const) {
    command(name, async () => {
      const items = await connection.list(kind);
      const picked = await vscode.window.showQuickPick(items.map((item) => ({ label: item.title ?? item.name ?? item.uri, description: item.uri ?? item.name, detail: item.description, item })), { placeHolder: kind, matchOnDetail: true });
      if (picked) await document(picked.item);
    });
  }
  command("ping", async () => { await connection.ping(); void vscode.window.showInformationMessage("Ping 成功！服务器响应正常。"); });
  command("status", () => void vscode.window.showInformationMessage(connection.describe()));
  command("clearHistory", async () => { await (await gateway()).call("DELETE", "runs"); void vscode.window.showInformationMessage("The history is empty."); });
  command("exportConfig", exportConfig);
  command("importConfig", importConfig);
  if (setting<boolean>("autoStart")) void gateway().catch((e) => { bar.tooltip = String(e); });
}

/** choose asks for a saved server, or for where another one is. */
async function choose(): Promise<SavedServer | undefined> {
  const saved = setting<SavedServer[]>("servers"), first = setting<string>("defaultTransport");
  const transports = ["stdio", "sse", "streamable http"].sort((a, b) => Number(b === first) - Number(a === first));
  const picked = await vscode.window.showQuickPick([...saved.map((server) => ({ label: server.name, description: server.command ?? server.url, server })), ...transports.map((type) => ({ label: type, description: undefined, server: undefined }))], { placeHolder: "Server or transport" });
  if (!picked || picked.server) return picked?.server;
  const type = picked.label as SavedServer["type"];
  if (type === "stdio") {
    const line = await vscode.window.showInputBox({ prompt: "Command and arguments", placeHolder: "npx -y @modelcontextprotocol/server-everything" });
    const [command, ...args] = (line ?? "").trim().split(/\s+/);
    return command ? { name: command, type, command, args } : undefined;
  }
  const url = await vscode.window.showInputBox({ prompt: "URL", placeHolder: "https://example.com/mcp" });
  return url ? { name: url, type, url } : undefined;
}

async function exportConfig(): Promise<void> {
  const to = await vscode.window.showSaveDialog({ defaultUri: vscode.Uri.file("mcp-servers.json"), filters: { JSON: ["json"] } });
  if (to) await vscode.workspace.fs.writeFile(to, new TextEncoder().encode(JSON.stringify(exported(setting<SavedServer[]>("servers")), null, 2) + "\n"));
}

async function importConfig(): Promise<void> {
  const from = await vscode.window.showOpenDialog({ canSelectMany: false, filters: { JSON: ["json"] } });
  if (!from?.[0]) return;
  const more = imported(new TextDecoder().decode(await vscode.workspace.fs.readFile(from[0])));
  const names = new Set(more.map((s) => s.name));
  const kept = setting<SavedServer[]>("servers").filter((s) => !names.has(s.name));
  await vscode.workspace.getConfiguration("mcp-tester").update("servers", [...kept, ...more], vscode.ConfigurationTarget.Global);
  void vscode.window.showInformationMessage(`${more.length} servers were imported.`);
}

export async function deactivate(): Promise<void> { (await running?.catch(() => undefined))?.stop(); }
