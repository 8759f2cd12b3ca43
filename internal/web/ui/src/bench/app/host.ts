// The host of an app that a server provides. It is loaded when the first app is
// shown, because the official bridge is larger than the rest of the page.
import { AppBridge, PostMessageTransport, type McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import { member } from "../../json/members.ts";
import { lang } from "../../i18n/index.ts";
import { dark } from "../../state.ts";
import { ask } from "../session.ts";
import type { Item } from "../list.tsx";

export interface AppMessage { at: number; from: "app" | "host"; message: any }
export interface Denial { what: string; detail: string }

export interface AppOptions {
  frame: HTMLIFrameElement; bench: string; tools: Item[]; tool?: Item; html: string;
  args: Record<string, unknown>; result: any;
  onMessage: (m: AppMessage) => void; onDenied: (d: Denial) => void; onHeight: (px: number) => void;
}

/** Watched reports every message. Denials of the policy are reported separately and not passed to the bridge. */
class Watched extends PostMessageTransport {
  constructor(frame: Window, private readonly seen: (m: AppMessage) => void, private readonly denied: (d: Denial) => void) { super(frame, frame); }
  private readonly began = performance.now();
  override async start(): Promise<void> {
    const pass = this.onmessage;
    this.onmessage = (message: any, extra) => {
      if (message.method === "ui/notifications/sandbox-denied") { this.denied({ what: String(message.params?.directive), detail: String(message.params?.uri) }); return; }
      this.seen({ at: performance.now() - this.began, from: "app", message });
      pass?.(message, extra);
    };
    return super.start();
  }
  override async send(message: any): Promise<void> {
    this.seen({ at: performance.now() - this.began, from: "host", message: message.method === "ui/notifications/sandbox-resource-ready" ? { ...message, params: { ...message.params, html: `… ${message.params.html.length} bytes` } } : message });
    return super.send(message);
  }
}

function context(tool: Item | undefined): McpUiHostContext {
  const css = getComputedStyle(document.documentElement);
  const v = (name: string) => css.getPropertyValue(name).trim();
  return {
    ...(tool ? { toolInfo: { tool: tool as any } } : {}), theme: dark() ? "dark" : "light", displayMode: "inline", availableDisplayModes: ["inline"], locale: lang.value, platform: "web",
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    styles: { variables: {
      "--color-background-primary": v("--surface"), "--color-background-secondary": v("--sunken"), "--color-text-primary": v("--ink"), "--color-text-secondary": v("--ink-2"), "--color-text-tertiary": v("--ink-3"),
      "--color-border-primary": v("--line-2"), "--color-border-secondary": v("--line"), "--color-ring-primary": v("--accent"), "--font-sans": v("--sans"), "--font-mono": v("--mono"),
    } as any },
  };
}

/** forApp reports whether an app may call a tool: tools that are only for models are excluded. */
const forApp = (tool: Item | undefined) => !tool?._meta?.ui?.visibility || tool._meta.ui.visibility.includes("app");

/** mount runs an app in a frame and returns a function that ends it. */
export function mount(o: AppOptions): () => void {
  const bridge = new AppBridge(null, { name: "mcp-all-in-one", version: "1" }, { serverTools: {}, serverResources: {}, logging: {}, message: { text: {} }, updateModelContext: { text: {} } }, { hostContext: context(o.tool) });
  const request = async (method: string, params: unknown) => JSON.parse((await ask(o.bench, method, JSON.stringify(params))).text);
  const deny = (what: string, detail: string): never => { o.onDenied({ what, detail }); throw new Error(`${what} was denied`); };
  bridge.onsandboxready = () => void bridge.sendSandboxResourceReady({ html: o.html, sandbox: "allow-scripts allow-forms" });
  bridge.oninitialized = () => {
    void bridge.sendToolInput({ arguments: o.args });
    void bridge.sendToolResult(o.result);
  };
  bridge.onsizechange = ({ height }) => { if (height) o.onHeight(height); };
  bridge.oncalltool = async (params) => {
    if (!forApp(o.tools.find((x) => x.name === params.name))) deny("tools/call", params.name);
    return request("tools/call", { name: params.name, arguments: params.arguments ?? {} });
  };
  bridge.onreadresource = (params) => request("resources/read", { uri: params.uri });
  bridge.onlistresources = async (params) => request("resources/list", params?.cursor ? { cursor: params.cursor } : {});
  bridge.onlistresourcetemplates = async (params) => request("resources/templates/list", params?.cursor ? { cursor: params.cursor } : {});
  bridge.onlistprompts = async (params) => request("prompts/list", params?.cursor ? { cursor: params.cursor } : {});
  // The Bench has no conversation. Messages of an app to a model are only on the wire tab.
  bridge.onmessage = async () => ({});
  bridge.onupdatemodelcontext = async () => ({});
  bridge.onrequestdisplaymode = async () => ({ mode: "inline" });
  bridge.onopenlink = async ({ url }) => deny("ui/open-link", url);
  bridge.ondownloadfile = async () => deny("ui/download-file", "");
  bridge.oncreatesamplingmessage = async () => deny("sampling/createMessage", "");
  const transport = new Watched(o.frame.contentWindow!, o.onMessage, o.onDenied);
  void bridge.connect(transport);
  return () => { void bridge.close(); };
}

/** argumentsOf returns the arguments of a call, from its params. */
export function argumentsOf(params: string | undefined): Record<string, unknown> {
  try { return JSON.parse((params && member(params, "arguments")) ?? "{}"); } catch { return {}; }
}
