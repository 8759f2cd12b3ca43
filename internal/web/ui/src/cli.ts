// The command line that does what a screen shows.
import { signal } from "@preact/signals";

export const program = "mcp-all-in-one";

/** commandLine is what the footer shows. */
export const commandLine = signal(program + " status");

/** quote makes one word of a shell command. */
export function quote(word: string): string {
  return word !== "" && /^[A-Za-z0-9_@%+=:,.\/-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";
}

export function command(...words: string[]): string { return [program, ...words.map(quote)].join(" "); }

/** argument is one k=v word: text as it is, everything else as JSON. */
export function argument(key: string, json: string): string {
  let v: unknown;
  try { v = JSON.parse(json); } catch { v = undefined; }
  return typeof v === "string" ? `${key}=${v}` : `${key}:=${json}`;
}
