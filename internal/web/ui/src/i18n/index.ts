// Texts in English and Simplified Chinese. A key that is missing in a language
// does not compile.
import { signal } from "@preact/signals";
import { addEn } from "./add.ts";
import { benchEn } from "./bench.ts";
import { en } from "./en.ts";

/** A key stands in one file only, or else one text would replace another. */
type Twice = keyof typeof en & (keyof typeof benchEn | keyof typeof addEn) | keyof typeof benchEn & keyof typeof addEn;
const twice: Twice extends never ? true : Twice = true;
void twice;

export type Key = keyof typeof en | keyof typeof benchEn | keyof typeof addEn;
export type Lang = "en" | "zh-CN";

const english: Record<Key, string> = { ...en, ...benchEn, ...addEn };
/** tables are the loaded languages. Chinese is loaded when it is first used. */
const tables: { [l in Lang]?: Record<Key, string> } = { en: english };

async function load(l: Lang): Promise<void> {
  if (!tables[l]) tables[l] = (await import("./chinese.ts")).chinese;
}

function choose(): Lang {
  const asked = new URLSearchParams(location.search).get("lang") ?? localStorage.getItem("lang") ?? navigator.language;
  return asked.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

export const lang = signal<Lang>(typeof location === "undefined" ? "en" : choose());

/** ready is done when the texts of the page are loaded; without them it is in English. */
export const ready = load(lang.peek()).catch(() => {});

export function setLang(l: Lang): void {
  localStorage.setItem("lang", l);
  void load(l).then(() => { lang.value = l; });
}

/** said chooses between the two languages of a text that the gateway sent. */
export function said(en: string | undefined, zh: string | undefined): string {
  return (lang.value === "zh-CN" && zh) || en || "";
}

const plural = new Intl.PluralRules("en");

/** t returns the text of a key; {0}, {1} stand for the arguments; numbers are grouped. A text with "|" has a singular and a plural form, chosen by its first argument. */
export function t(key: Key, ...args: (string | number)[]): string {
  let s = (tables[lang.value] ?? english)[key];
  if (!args.length) return s;
  const [one, more] = s.split("|");
  if (more !== undefined) s = plural.select(Number(String(args[0]).replaceAll(",", ""))) === "one" ? one! : more;
  return s.replace(/\{(\d)\}/g, (_, i) => { const arg = args[Number(i)]!; return typeof arg === "number" ? arg.toLocaleString(lang.value) : arg; });
}
