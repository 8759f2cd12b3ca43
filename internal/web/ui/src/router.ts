// Every screen has a URL below /ui/.
import { computed, signal } from "@preact/signals";

const here = signal(location.pathname + location.search);

/** segments are the decoded parts of the path after /ui/. */
export const segments = computed(() =>
  here.value.split("?")[0]!.replace(/^\/ui\/?/, "").split("/").filter(Boolean).map((s) => {
    try { return decodeURIComponent(s); } catch { return s; }
  }));

export const query = computed(() => new URLSearchParams(here.value.split("?")[1] ?? ""));

export function href(parts: string[], params: Record<string, string | undefined> = {}): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(params)) if (v) q.set(k, v);
  const s = q.toString();
  return "/ui/" + parts.map(encodeURIComponent).join("/") + (s ? "?" + s : "");
}

/** go opens a screen. state stays with the history entry; a link cannot set it. */
export function go(url: string, replace = false, state: unknown = null): void {
  if (url === here.value) return;
  history[replace ? "replaceState" : "pushState"](state, "", url);
  here.value = url;
}

/** setQuery changes parameters of this screen without a new history entry. */
export function setQuery(params: Record<string, string | undefined>): void {
  const q = new URLSearchParams(query.peek());
  for (const [k, v] of Object.entries(params)) v ? q.set(k, v) : q.delete(k);
  const s = q.toString();
  go(here.peek().split("?")[0] + (s ? "?" + s : ""), true);
}

export function startRouter(): void {
  addEventListener("popstate", () => { here.value = location.pathname + location.search; });
  document.addEventListener("click", (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const a = (e.target as Element).closest?.("a");
    if (!a || a.target || a.hasAttribute("download") || a.origin !== location.origin || !a.pathname.startsWith("/ui/")) return;
    e.preventDefault();
    go(a.pathname + a.search);
  });
}
