// Finds the members of an object in JSON text without parsing the rest.

export interface Member { key: string; start: number; end: number }

export function members(text: string): Member[] {
  const out: Member[] = [];
  let i = 0;
  const blank = () => { while (text.charCodeAt(i) <= 32) i++; };
  blank();
  if (text[i] !== "{") return out;
  i++;
  for (;;) {
    blank();
    if (text[i] !== '"') return out;
    const keyStart = i;
    i = stringEnd(text, i);
    const key = JSON.parse(text.slice(keyStart, i)) as string;
    blank();
    i++; // the colon
    blank();
    const start = i;
    i = valueEnd(text, i);
    out.push({ key, start, end: i });
    blank();
    if (text[i] !== ",") return out;
    i++;
  }
}

/** member returns the text of one member. */
export function member(text: string, key: string): string | undefined {
  const m = members(text).find((x) => x.key === key);
  return m && text.slice(m.start, m.end);
}

function stringEnd(text: string, at: number): number {
  for (let i = at + 1; ;) {
    i = text.indexOf('"', i);
    if (i < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(i - 1 - slashes) === 92) slashes++;
    i++;
    if (slashes % 2 === 0) return i;
  }
}

function valueEnd(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 34) { i = stringEnd(text, i) - 1; if (!depth) return i + 1; }
    else if (c === 123 || c === 91) depth++;
    else if (c === 125 || c === 93) { if (!depth) return i; if (--depth === 0) return i + 1; }
    else if (!depth && (c === 44 || c <= 32)) return i;
  }
  return text.length;
}
