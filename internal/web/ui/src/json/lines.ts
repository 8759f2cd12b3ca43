// An index of the lines of pretty-printed JSON, without printing it: six
// megabytes take well under a tenth of a second.

export interface Lines {
  text: string;
  count: number;
  depth: Uint16Array;
  /** keyStart and keyEnd delimit the quoted name; -1 if there is none. */
  keyStart: Int32Array;
  keyEnd: Int32Array;
  start: Int32Array;
  end: Int32Array;
  /** close is the line that closes the container that this line opens; -1 for none. */
  close: Int32Array;
  /** children is the number of members of a container. */
  children: Int32Array;
}

class Builder {
  n = 0;
  depth: Uint16Array;
  keyStart: Int32Array;
  keyEnd: Int32Array;
  start: Int32Array;
  end: Int32Array;
  close: Int32Array;
  children: Int32Array;

  constructor(private size: number) {
    this.depth = new Uint16Array(size);
    this.keyStart = new Int32Array(size);
    this.keyEnd = new Int32Array(size);
    this.start = new Int32Array(size);
    this.end = new Int32Array(size);
    this.close = new Int32Array(size);
    this.children = new Int32Array(size);
  }

  add(depth: number, keyStart: number, keyEnd: number, start: number, end: number): number {
    if (this.n === this.size) this.grow();
    const i = this.n++;
    this.depth[i] = depth; this.keyStart[i] = keyStart; this.keyEnd[i] = keyEnd;
    this.start[i] = start; this.end[i] = end; this.close[i] = -1;
    return i;
  }

  private grow(): void {
    this.size *= 2;
    const wider = (a: Int32Array) => { const b = new Int32Array(this.size); b.set(a); return b; };
    const d = new Uint16Array(this.size); d.set(this.depth); this.depth = d;
    this.keyStart = wider(this.keyStart); this.keyEnd = wider(this.keyEnd);
    this.start = wider(this.start); this.end = wider(this.end);
    this.close = wider(this.close); this.children = wider(this.children);
  }
}

const recent = new Map<string, Lines | undefined>();

/** linesOf is indexLines with a cache for the texts that were shown last. */
export function linesOf(text: string): Lines | undefined {
  if (recent.has(text)) return recent.get(text);
  const lines = indexLines(text);
  if (text.length > 100_000) {
    recent.set(text, lines);
    if (recent.size > 3) recent.delete(recent.keys().next().value!);
  }
  return lines;
}

/** A Part is a member of the outermost object: its first line and the line after its last. */
export interface Part { from: number; to: number; start: number; end: number }

/** partsOf returns the members of the outermost object. */
export function partsOf(lines: Lines): Map<string, Part> {
  const out = new Map<string, Part>();
  if (lines.text[lines.start[0]!] !== "{" || lines.close[0]! < 0) return out;
  for (let i = 1; i < lines.close[0]!;) {
    const close = lines.close[i]!;
    const to = close > 0 ? close + 1 : i + 1;
    const key = JSON.parse(lines.text.slice(lines.keyStart[i]!, lines.keyEnd[i]!)) as string;
    out.set(key, { from: i, to, start: lines.start[i]!, end: close > 0 ? lines.end[close]! : lines.end[i]! });
    i = to;
  }
  return out;
}

/** indexLines indexes JSON text; undefined if it is not well formed. */
export function indexLines(text: string): Lines | undefined {
  // A line of dense JSON is about ten characters long.
  const b = new Builder(Math.max(64, text.length >> 3));
  const open: number[] = [];
  let keyStart = -1, keyEnd = -1;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 32 || c === 10 || c === 13 || c === 9 || c === 44 /* , */) continue;
    if (c === 123 || c === 91) { // { [
      const line = b.add(open.length, keyStart, keyEnd, i, i + 1);
      if (open.length) b.children[open.at(-1)!]!++;
      open.push(line);
      keyStart = -1;
      continue;
    }
    if (c === 125 || c === 93) { // } ]
      const line = open.pop();
      if (line === undefined) return undefined;
      if (b.children[line] === 0) { b.end[line] = i + 1; continue; }
      b.close[line] = b.add(open.length, -1, -1, i, i + 1);
      continue;
    }
    let end = i + 1;
    if (c === 34) {
      for (;;) {
        end = text.indexOf('"', end);
        if (end < 0) return undefined;
        let slashes = 0;
        while (text.charCodeAt(end - 1 - slashes) === 92) slashes++;
        end++;
        if (slashes % 2 === 0) break;
      }
      if (keyStart < 0 && isKey(text, end)) {
        keyStart = i; keyEnd = end;
        i = text.indexOf(":", end);
        continue;
      }
    } else {
      for (; end < text.length; end++) {
        const d = text.charCodeAt(end);
        if (d === 44 || d === 125 || d === 93 || d <= 32) break;
      }
    }
    b.add(open.length, keyStart, keyEnd, i, end);
    if (open.length) b.children[open.at(-1)!]!++;
    keyStart = -1;
    i = end - 1;
  }
  if (open.length || !b.n) return undefined;
  return { text, count: b.n, depth: b.depth, keyStart: b.keyStart, keyEnd: b.keyEnd, start: b.start, end: b.end, close: b.close, children: b.children };
}

function isKey(text: string, end: number): boolean {
  for (let i = end; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 58) return true;
    if (c > 32) return false;
  }
  return false;
}

/** visible returns the lines from..to that are visible when some containers are folded. */
export function visible(lines: Lines, folded: ReadonlySet<number>, from = 0, to = lines.count): Int32Array {
  const out = new Int32Array(to - from);
  let n = 0;
  for (let i = from; i < to; i++) {
    out[n++] = i;
    if (folded.has(i) && lines.close[i]! > 0) i = lines.close[i]!;
  }
  return out.subarray(0, n);
}

/** lineAt returns the line that contains an offset of the text. */
export function lineAt(lines: Lines, offset: number): number {
  let low = 0, high = lines.count - 1;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    const begin = lines.keyStart[mid]! >= 0 ? lines.keyStart[mid]! : lines.start[mid]!;
    if (begin <= offset) low = mid; else high = mid - 1;
  }
  return low;
}
