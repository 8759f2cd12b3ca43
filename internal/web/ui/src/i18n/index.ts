// Texts in English and Simplified Chinese. A key that a language lacks does
// not compile.
import { signal } from "@preact/signals";
import { en } from "./en.ts";
import { zh } from "./zh.ts";

export type Key = keyof typeof en;
export type Lang = "en" | "zh-CN";

const tables: Record<Lang, Record<Key, string>> = { en, "zh-CN": zh };

function choose(): Lang {
  const asked = new URLSearchParams(location.search).get("lang") ?? localStorage.getItem("lang") ?? navigator.language;
  return asked.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

export const lang = signal<Lang>(typeof location === "undefined" ? "en" : choose());

export function setLang(l: Lang): void {
  lang.value = l;
  localStorage.setItem("lang", l);
  document.documentElement.lang = l;
}

/** said chooses between the two languages of a text that the gateway sent. */
export function said(en: string | undefined, zh: string | undefined): string {
  return (lang.value === "zh-CN" && zh) || en || "";
}

/** t is the text of a key; {0}, {1} stand for the arguments. */
export function t(key: Key, ...args: (string | number)[]): string {
  const s = tables[lang.value][key];
  return args.length ? s.replace(/\{(\d)\}/g, (_, i) => String(args[Number(i)])) : s;
}
