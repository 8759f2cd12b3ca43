// State that does not belong to one screen.
import { effect, signal } from "@preact/signals";
import type { Session } from "./api.ts";
import { link } from "./live.ts";

export const session = signal<Session | undefined>(undefined);
/** may reports whether the user may do something now; nothing can be changed while the gateway does not answer. */
export const may = (scope: "call" | "admin") =>
  link.value !== "lost" && (session.value?.scope === "admin" || scope === "call" && session.value?.scope === "call");

export type Theme = "auto" | "light" | "dark";
export const theme = signal<Theme>((localStorage.getItem("theme") as Theme | null) ?? "auto");
effect(() => {
  localStorage.setItem("theme", theme.value);
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
});

/** roomy is set if rows of tables and lists are taller. */
export const roomy = remembered("roomy", false);
effect(() => { document.documentElement.classList.toggle("roomy", roomy.value); });

export const dark = () => theme.value === "dark" || theme.value === "auto" && matchMedia("(prefers-color-scheme: dark)").matches;

/** remembered is a signal that survives a reload. */
export function remembered<T>(key: string, initial: T) {
  let start = initial;
  try { start = JSON.parse(localStorage.getItem(key) ?? "") as T; } catch { /* nothing was stored */ }
  const s = signal<T>(start);
  effect(() => { localStorage.setItem(key, JSON.stringify(s.value)); });
  return s;
}

/** paletteOpen is set while the search is shown. */
export const paletteOpen = signal(false);

/** matching follows a media query. */
function matching(media: string) {
  const m = typeof matchMedia === "undefined" ? undefined : matchMedia(media);
  const s = signal(m?.matches ?? false);
  m?.addEventListener("change", (e) => { s.value = e.matches; });
  return s;
}
/** narrow is set for windows without room for a wide sidebar. */
export const narrow = matching("(max-width: 1320px)");
export const phone = matching("(max-width: 720px)");
