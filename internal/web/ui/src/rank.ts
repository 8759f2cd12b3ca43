// How well a text matches a query.

/** part ranks one word: equal, a prefix, the prefix of a word, anywhere, its letters in order. */
function part(text: string, word: string): number {
  const i = text.indexOf(word);
  if (text === word) return 100;
  if (i === 0) return 80;
  if (i > 0) return boundary(text, word) ? 60 : 30;
  let at = 0;
  for (const c of word) {
    at = text.indexOf(c, at) + 1;
    if (!at) return 0;
  }
  // Letters in order are a match only if they are most of a short text.
  return word.length >= 3 && text.length <= 60 ? 8 : 0;
}

/** boundary reports whether any word of the text begins with word. */
function boundary(text: string, word: string): boolean {
  for (let i = text.indexOf(word); i >= 0; i = text.indexOf(word, i + 1)) if (i === 0 || !/[a-z0-9]/.test(text[i - 1]!)) return true;
  return false;
}

/** rank returns 0 if a word of the query is in neither text; the words may be in any order. */
export function rank(text: string, hint: string, query: string): number {
  const low = text.toLowerCase(), more = hint.toLowerCase(), words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const whole = words.join(" "), last = low.split(" / ").at(-1)!;
  if (low === whole || last === whole) return 1000;
  let sum = 0;
  for (const w of words) {
    const own = Math.max(part(low, w), last === low ? 0 : part(last, w)), score = own || (more.includes(w) ? 5 : 0);
    if (!score) return 0;
    sum += score;
  }
  return sum / words.length + (last.startsWith(whole) ? 50 : 0);
}
