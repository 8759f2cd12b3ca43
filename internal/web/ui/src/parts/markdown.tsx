// A small Markdown, enough for prompts and resources. It makes elements, never
// HTML, so nothing has to be sanitised.
import type { ComponentChildren } from "preact";

const inline = /(`[^`]+`)|(\*\*[^*]+\*\*)|(\*[^*\s][^*]*\*)|\[([^\]]+)\]\(([^)\s]+)\)/g;

function spans(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const m of text.matchAll(inline)) {
    out.push(text.slice(at, m.index));
    if (m[1]) out.push(<code>{m[1].slice(1, -1)}</code>);
    else if (m[2]) out.push(<strong>{m[2].slice(2, -2)}</strong>);
    else if (m[3]) out.push(<em>{m[3].slice(1, -1)}</em>);
    else if (/^https?:/.test(m[5]!)) out.push(<a href={m[5]} target="_blank" rel="noopener noreferrer">{m[4]}</a>);
    else out.push(`${m[4]} (${m[5]})`);
    at = m.index + m[0].length;
  }
  out.push(text.slice(at));
  return out;
}

/** cells returns the columns of one line of a table; \\| is a literal bar. */
const cells = (line: string) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((c) => c.trim().replaceAll("\\|", "|"));
const rule = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

/** table parses a head, a rule and rows; undefined if the lines are not a table. */
function table(lines: string[], at: number): { rows: string[][]; align: string[]; end: number } | undefined {
  if (!lines[at]!.includes("|") || !lines[at + 1]?.includes("-") || !rule.test(lines[at + 1]!)) return undefined;
  const head = cells(lines[at]!), marks = cells(lines[at + 1]!);
  if (head.length !== marks.length) return undefined;
  let end = at + 2;
  while (end < lines.length && lines[end]!.includes("|")) end++;
  const rows = [head, ...lines.slice(at + 2, end).map(cells)].map((r) => head.map((_, i) => r[i] ?? ""));
  return { rows, align: marks.map((m) => (/^-+:$/.test(m) ? "r" : /^:-+:$/.test(m) ? "c" : "")), end };
}

export function Markdown({ text }: { text: string }) {
  const lines = text.split("\n");
  const out: ComponentChildren[] = [];
  let para: string[] = [];
  const flush = () => { if (para.length) out.push(<p>{spans(para.join(" "))}</p>); para = []; };
  // The front matter of a skill is data, not text.
  const front = lines[0] === "---" ? lines.indexOf("---", 1) : -1;
  if (front > 0) out.push(<pre class="code text">{lines.slice(1, front).join("\n")}</pre>);
  for (let i = front + 1; i < lines.length; i++) {
    const line = lines[i]!;
    const head = /^(#{1,6})\s+(.*)$/.exec(line);
    const grid = table(lines, i);
    if (grid) {
      flush();
      const [head, ...rest] = grid.rows;
      out.push(<div class="md-table" tabIndex={0} role="group"><table><thead><tr>{head!.map((c, j) => <th class={grid.align[j]}>{spans(c)}</th>)}</tr></thead><tbody>{rest.map((r) => <tr>{r.map((c, j) => <td class={grid.align[j]}>{spans(c)}</td>)}</tr>)}</tbody></table></div>);
      i = grid.end - 1;
    } else if (line.startsWith("```")) {
      flush();
      const end = lines.findIndex((l, j) => j > i && l.startsWith("```"));
      out.push(<pre class="code text">{lines.slice(i + 1, end < 0 ? undefined : end).join("\n")}</pre>);
      i = end < 0 ? lines.length : end;
    } else if (head) { flush(); out.push(<p class={"md-h md-h" + head[1]!.length}>{spans(head[2]!)}</p>); }
    else if (/^\s*([-*+]|\d+[.)])\s+/.test(line)) {
      flush();
      const items: string[] = [];
      for (; i < lines.length && /^\s*([-*+]|\d+[.)])\s+/.test(lines[i]!); i++) items.push(lines[i]!.replace(/^\s*([-*+]|\d+[.)])\s+/, ""));
      i--;
      out.push(/^\s*\d/.test(line) ? <ol>{items.map((x) => <li>{spans(x)}</li>)}</ol> : <ul>{items.map((x) => <li>{spans(x)}</li>)}</ul>);
    } else if (line.startsWith(">")) { flush(); out.push(<blockquote>{spans(line.replace(/^>\s?/, ""))}</blockquote>); }
    else if (!line.trim()) flush();
    else para.push(line);
  }
  flush();
  return <div class="markdown">{out}</div>;
}

/** looksLikeMarkdown guesses whether text reads better as Markdown. */
export function looksLikeMarkdown(text: string): boolean {
  return text.length < 200_000 && /^(#{1,6} |```|[-*] |\d+\. |\s*\|?\s*:?-+:?\s*\|)/m.test(text) && !/^\s*[[{]/.test(text);
}
