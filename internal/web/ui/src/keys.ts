// Keyboard shortcuts. A screen adds its own while it is shown.
import { useEffect } from "preact/hooks";
import type { Key } from "./i18n/index.ts";

export interface Shortcut { keys: string; label: Key; run: () => void; inInput?: boolean }

const active = new Set<Shortcut>();
let prefix = "";
let prefixTimer = 0;

export const isMac = navigator.platform.startsWith("Mac");
export const modName = isMac ? "⌘" : "Ctrl";

/** useShortcuts registers shortcuts while a screen is shown. */
export function useShortcuts(list: Shortcut[]): void {
  useEffect(() => {
    list.forEach((s) => active.add(s));
    return () => list.forEach((s) => active.delete(s));
  });
}

export const shortcuts = () => [...active];

function nameOf(e: KeyboardEvent): string {
  const mod = e.metaKey || e.ctrlKey ? "mod+" : "";
  const alt = e.altKey ? "alt+" : "";
  return mod + alt + (e.key.length === 1 ? e.key.toLowerCase() : e.key);
}

export function startKeys(): void {
  addEventListener("keydown", (e) => {
    const target = e.target as HTMLElement;
    const typing = target.matches?.("input, textarea, select, [contenteditable=true]") || target.shadowRoot !== null;
    const name = nameOf(e);
    const full = prefix ? `${prefix} ${name}` : name;
    clearTimeout(prefixTimer);
    prefix = "";
    for (const s of active) {
      if (s.keys !== full || typing && !s.inInput) continue;
      e.preventDefault();
      s.run();
      return;
    }
    if (!typing && name === "g") {
      prefix = "g";
      prefixTimer = window.setTimeout(() => { prefix = ""; }, 1200);
    }
  });
}

/** focusFilter puts the cursor into the screen's filter. */
export function focusFilter(): void {
  document.querySelector<HTMLInputElement>("main [data-filter]")?.focus();
}
