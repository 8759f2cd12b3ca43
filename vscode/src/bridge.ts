// Runs in the tab before the page does: what the page asks of the network goes
// to the extension, which alone can reach the program.

declare function acquireVsCodeApi(): { postMessage(message: unknown): void };

const host = acquireVsCodeApi();
let next = 0;
const waiting = new Map<number, (m: any) => void>();
const streams = new Map<number, Stream>();

addEventListener("message", (e) => {
  const m = e.data;
  if (m.type === "answer") { waiting.get(m.id)?.(m); waiting.delete(m.id); }
  if (m.type === "chunk") streams.get(m.id)?.take(m.text);
  if (m.type === "end") streams.get(m.id)?.lost();
  if (m.type === "go") { history.pushState(null, "", m.path); dispatchEvent(new PopStateEvent("popstate")); }
});

const pathOf = (input: RequestInfo | URL) => { const u = new URL(input instanceof Request ? input.url : String(input), location.origin); return u.pathname + u.search; };

window.fetch = (input, init) => new Promise((resolve) => {
  const id = ++next;
  waiting.set(id, (m) => resolve(new Response(m.status === 204 ? null : m.body, { status: m.status, headers: { "Content-Type": m.contentType } })));
  const lang = new Headers(init?.headers).get("Accept-Language") ?? "en";
  host.postMessage({ type: "fetch", id, method: init?.method ?? "GET", path: pathOf(input), body: init?.body ?? undefined, lang });
});

/** Stream is as much of EventSource as the page uses. */
class Stream extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  readyState = 0;
  onopen?: () => void;
  onerror?: () => void;
  private readonly id = ++next;
  private rest = "";
  constructor(url: string) {
    super();
    streams.set(this.id, this);
    host.postMessage({ type: "events", id: this.id, path: pathOf(url) });
  }
  take(text: string): void {
    if (this.readyState === 0) { this.readyState = 1; this.onopen?.(); }
    const blocks = (this.rest + text).split("\n\n");
    this.rest = blocks.pop()!;
    for (const block of blocks) {
      const field = (name: string) => block.split("\n").filter((l) => l.startsWith(name + ": ")).map((l) => l.slice(name.length + 2)).join("\n");
      if (field("data")) this.dispatchEvent(new MessageEvent(field("event") || "message", { data: field("data"), lastEventId: field("id") }));
    }
  }
  lost(): void { this.close(); this.onerror?.(); }
  close(): void { this.readyState = 2; streams.delete(this.id); host.postMessage({ type: "close", id: this.id }); }
}
window.EventSource = Stream as unknown as typeof EventSource;

// The page brings its own styles; those that the editor adds would change them.
const root = document.documentElement;

// Unless a person chose a theme on the page, it has the editor's.
const dark = () => /vscode-(dark|high-contrast)(\s|$)/.test(document.body?.className ?? "");
const media = window.matchMedia.bind(window);
window.matchMedia = (query) => query === "(prefers-color-scheme: dark)" ? media(dark() ? "all" : "not all") : media(query);
const follow = () => {
  document.getElementById("_defaultStyles")?.remove();
  const wanted = dark() ? "dark" : "light";
  if ((localStorage.getItem("theme") ?? "auto") === "auto" && root.dataset.theme !== wanted) root.dataset.theme = wanted;
};
document.addEventListener("DOMContentLoaded", () => {
  follow();
  new MutationObserver(follow).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  new MutationObserver(follow).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
});

// The page finds its screen in the address.
history.replaceState(null, "", document.documentElement.dataset.start ?? "/ui/bench");
