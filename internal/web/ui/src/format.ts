// Formats numbers for people.
import { lang, t } from "./i18n/index.ts";

/** ns formats a duration in nanoseconds. */
export function ns(n: number | undefined): string {
  if (n === undefined) return "–";
  const ms = n / 1e6;
  if (ms > 0 && ms < 0.1) return Math.max(1, Math.round(n / 1000)) + " µs";
  if (ms < 999.5) return (ms > 0 && ms < 10 ? ms.toFixed(1) : Math.round(ms).toString()) + " ms";
  if (ms < 59_950) return (ms / 1000).toFixed(1) + " s";
  const s = Math.round(ms / 1000);
  return t("minSec", Math.floor(s / 60), s % 60);
}

/** tick formats a value of an axis, in milliseconds, in the unit of its largest one. */
export function tick(ms: number, top: number): string {
  return top < 1000 ? +ms.toFixed(2) + " ms" : +(ms / 1000).toFixed(2) + " s";
}

export function bytes(n: number): string {
  if (n < 1024) return n + " B";
  if (n < 1024 * 1024) return (n / 1024).toFixed(n < 10240 ? 1 : 0) + " KB";
  return (n / 1024 / 1024).toFixed(1) + " MB";
}

/** tokens is a rough estimate: four bytes per token. */
export function tokens(size: number): string {
  return `≈ ${short(Math.ceil(size / 4))} tok`;
}

const counts: Record<string, Intl.NumberFormat> = {};
export function count(n: number): string { return (counts[lang.value] ??= new Intl.NumberFormat(lang.value)).format(n); }

export function clock(iso: string): string {
  const d = new Date(iso);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${String(d.getMilliseconds()).padStart(3, "0")}`;
}

/** ago formats how long ago something was. */
export function ago(iso: string, now: number): string {
  const s = Math.round((now - Date.parse(iso)) / 1000);
  return s < 1 ? t("now") : t("agoIs", lasting(s));
}

/** age formats the time since then: 3 d, 20 min. */
export function age(iso: string, now: number): string {
  return lasting(Math.max(0, Math.round((now - Date.parse(iso)) / 1000)));
}

/** lasting formats a number of seconds in its largest unit. */
export function lasting(s: number): string {
  if (s < 60) return t("age_s", s);
  if (s < 3600) return t("age_min", Math.round(s / 60));
  if (s < 86400) return t("age_h", Math.round(s / 3600));
  return t("age_d", Math.round(s / 86400));
}

/** short formats a number with a letter for thousands and millions: 38.4k, 2.7M. */
export function short(n: number): string {
  if (n < 1000) return String(Math.round(n));
  return n < 999_950 ? (n / 1000).toFixed(1).replace(/\.0$/, "") + "k" : (n / 1e6).toFixed(1).replace(/\.0$/, "") + "M";
}

/** percent formats the share of a part in a whole, with at most one decimal. */
export function percent(part: number, whole: number): string {
  if (!whole) return "–";
  const p = (part / whole) * 100;
  return (p === 0 || p >= 99.95 || p >= 10 && p < 90 ? Math.round(p) : p.toFixed(1).replace(/\.0$/, "")) + "%";
}

/** day formats a date: Nov 17. */
export function day(ms: number): string { return new Intl.DateTimeFormat(lang.value, { month: "short", day: "numeric" }).format(ms); }

/** date formats a day with its year: Nov 17, 2026. */
export function date(iso: string): string { return new Intl.DateTimeFormat(lang.value, { dateStyle: "medium" }).format(Date.parse(iso)); }

/** sinceDay formats how many days ago a date was, such as 2026-11-17. */
export function sinceDay(date: string): string {
  const n = Math.round((new Date().setHours(0, 0, 0, 0) - Date.parse(date + "T00:00")) / 86_400_000);
  return n < 1 ? t("today") : t("agoIs", t("age_d", n));
}

/** hm formats a time of day: 13:43, or with seconds. */
export function hm(ms: number, seconds = false): string {
  const d = new Date(ms), two = (n: number) => String(n).padStart(2, "0");
  return `${two(d.getHours())}:${two(d.getMinutes())}` + (seconds ? ":" + two(d.getSeconds()) : "");
}
