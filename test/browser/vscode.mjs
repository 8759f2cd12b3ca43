// Stands where VS Code is: the parts of its API that the extension uses, with
// what a person would do given as answers.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export function editor(folder, settings, resource) {
  const seen = { commands: new Map(), messages: [], errors: [], documents: [], bar: [], panels: [], answers: { pick: [], input: [], warning: [], save: [], open: [] } };
  const next = (kind) => seen.answers[kind].shift();
  const uri = (path) => ({ path, fsPath: path, toString: () => path });
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const values = { ...Object.fromEntries(Object.entries(manifest.contributes.configuration.properties).map(([k, v]) => [k.replace("mcp-tester.", ""), v.default])), ...settings };
  const vscode = {
    env: { language: settings.language ?? "zh-cn" },
    Uri: { joinPath: (base, ...parts) => uri(join(base.path, ...parts)), file: uri },
    ViewColumn: { Active: -1 }, StatusBarAlignment: { Right: 2 }, ConfigurationTarget: { Global: 1 },
    commands: { registerCommand: (name, run) => { seen.commands.set(name, run); return { dispose() {} }; } },
    workspace: {
      getConfiguration: () => ({ get: (name) => values[name], update: async (name, value) => { values[name] = value; } }),
      openTextDocument: async (d) => d,
      fs: { writeFile: async (to, data) => writeFileSync(to.fsPath, data), readFile: async (from) => readFileSync(from.fsPath) },
    },
    window: {
      createStatusBarItem: () => ({ set text(t) { seen.bar.push(t); }, show() {}, dispose() {} }),
      createOutputChannel: () => ({ appendLine() {}, dispose() {} }),
      showInformationMessage: async (m) => { seen.messages.push(m); },
      showErrorMessage: async (m) => { seen.errors.push(m); },
      showWarningMessage: async (m) => { seen.messages.push(m); return next("warning"); },
      showQuickPick: async (items) => { const want = next("pick"); return items.find((i) => i.label === want); },
      showInputBox: async () => next("input"), showSaveDialog: async () => next("save"), showOpenDialog: async () => next("open"),
      showTextDocument: async (d) => { seen.documents.push(d.content); },
      createWebviewPanel: (...asked) => {
        const panel = { asked, sent: [], reveal() {}, onDidDispose() {}, webview: { cspSource: resource, asWebviewUri: (u) => uri(resource + u.path.slice(folder.length)), postMessage: (m) => panel.post(m), onDidReceiveMessage: (f) => { panel.take = f; } } };
        panel.post = (m) => panel.sent.push(m);
        seen.panels.push(panel);
        return panel;
      },
    },
  };
  const require = createRequire(join(folder, "out", "extension.js"));
  const Module = require("node:module");
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
  delete require.cache[join(folder, "out", "extension.js")]; // each editor has its own
  const extension = require(join(folder, "out", "extension.js"));
  Module._load = load;
  return { extension, seen, values, manifest, context: { extensionUri: uri(folder), subscriptions: [] }, run: (name) => seen.commands.get("mcp-tester." + name)() };
}
