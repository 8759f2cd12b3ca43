// Texts in English and Simplified Chinese. A key that is missing in a language
// does not compile.
import { signal } from "@preact/signals";
import { addEn, addZh } from "./add.ts";
import { benchEn, benchZh } from "./bench.ts";
import { en } from "./en.ts";
import { zh } from "./zh.ts";

export type Key = keyof typeof en | keyof typeof benchEn | keyof typeof addEn;
export type Lang = "en" | "zh-CN";

const tables: Record<Lang, Record<Key, string>> = { en: { ...en, ...benchEn, ...addEn }, "zh-CN": { ...zh, ...benchZh, ...addZh } };

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

const plural = new Intl.PluralRules("en");

/** t returns the text of a key; {0}, {1} stand for the arguments. A text with "|" has a singular and a plural form, chosen by its first argument. */
export function t(key: Key, ...args: (string | number)[]): string {
  let s: string = tables[lang.value][key];
  if (!args.length) return s;
  const [one, more] = s.split("|");
  if (more !== undefined) s = plural.select(Number(String(args[0]).replaceAll(",", ""))) === "one" ? one! : more;
  return s.replace(/\{(\d)\}/g, (_, i) => String(args[Number(i)]));
}
