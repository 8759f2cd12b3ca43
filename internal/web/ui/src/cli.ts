// The command line that is equivalent to a screen.
import { signal } from "@preact/signals";

export const program = "mcp-all-in-one";

/** commandLine is shown in the footer. */
export const commandLine = signal(program + " status");

/** quote quotes a word for a shell command. */
export function quote(word: string): string {
  return word !== "" && /^[A-Za-z0-9_@%+=:,.\/-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";
}

export function command(...words: string[]): string { return [program, ...words.map(quote)].join(" "); }

/** argument returns one k=v word: strings as they are, all other values as JSON. */
export function argument(key: string, json: string): string {
  let v: unknown;
  try { v = JSON.parse(json); } catch { v = undefined; }
  return typeof v === "string" ? `${key}=${v}` : `${key}:=${json}`;
}
