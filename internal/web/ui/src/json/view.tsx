// Shows JSON of any size, exactly as received, with a line index over the text
// and a virtual list.
import { useMemo, useState } from "preact/hooks";
import { t } from "../i18n/index.ts";
import { CopyButton } from "../parts/basics.tsx";
import { VirtualList, slots } from "../parts/list.tsx";
import { lineAt, linesOf, partsOf, visible, type Lines } from "./lines.ts";

const longest = 400;

/**
 * fit makes the view as high as its content, up to a limit; member shows one
 * member of the outermost object.
 */
export function JsonView({ text, label, fit, member }: { text: string; label: string; fit?: boolean; member?: string }) {
  const lines = useMemo(() => linesOf(text), [text]);
  const part = useMemo(() => (member && lines ? partsOf(lines).get(member) : undefined), [lines, member]);
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  const [find, setFind] = useState("");
  const [hit, setHit] = useState(-1);
  const rows = useMemo(() => lines && visible(lines, folded, part?.from, part?.to), [lines, folded, part]);
  if (!lines || !rows) return <TextView text={text} label={label} />;
  const toggle = (line: number) => {
    const next = new Set(folded);
    if (!next.delete(line)) next.add(line);
    setFolded(next);
  };
  const search = (from: number) => {
    if (!find) return;
    let at = text.indexOf(find, from);
    if (at < 0) at = text.indexOf(find);
    setHit(at);
    setFolded(new Set());
  };
  const few = fit && lines.count <= 12;
  const hitLine = hit >= 0 ? lineAt(lines, hit) : -1;
  return <div class={"json" + (fit ? " fit" : "")} style={fit ? { height: few ? `${rows.length * 18 + 12}px` : `min(${rows.length * 18 + 36}px, 60vh)` } : undefined}>
    <div class={few ? "json-bar few" : "json-bar"}>
      {!few && <><input type="search" value={find} placeholder={t("find")} aria-label={t("find")} data-local-find
        onInput={(e) => { setFind(e.currentTarget.value); setHit(-1); }}
        onKeyDown={(e) => { if (e.key === "Enter") { e.preventDefault(); search(hit + 1); } }} />
      <span class="mut" role="status">{find && hit < 0 ? "" : hit >= 0 ? t("line", hitLine + 1) : t("lines", rows.length)}</span>
      <span class="space" />
      <button type="button" class="link" onClick={() => setFolded(new Set(deepContainers(lines)))}>{t("fold")}</button>
      <button type="button" class="link" onClick={() => setFolded(new Set())}>{t("unfold")}</button></>}
      <CopyButton text={() => (part ? text.slice(part.start, part.end) : text)} />
    </div>
    <VirtualList class="code" count={rows.length} height={18} label={label} testid="json-lines"
      selected={hitLine >= 0 ? rows.indexOf(hitLine) : undefined}
      row={(i, style) => <Row key={i % slots} lines={lines} line={rows[i]!} folded={folded.has(rows[i]!)} onToggle={toggle} style={style} hit={rows[i] === hitLine} base={part ? 1 : 0} />} />
  </div>;
}

function deepContainers(l: Lines): number[] {
  const out = [];
  for (let i = 0; i < l.count; i++) if (l.close[i]! > 0 && l.depth[i]! >= 1) out.push(i);
  return out;
}

function Row(p: { lines: Lines; line: number; base: number; folded: boolean; hit: boolean; onToggle: (line: number) => void; style: Record<string, string> }) {
  const { lines: l, line: i } = p;
  const value = l.text.slice(l.start[i]!, Math.min(l.end[i]!, l.start[i]! + longest));
  const cut = l.end[i]! - l.start[i]! - value.length;
  const opens = l.close[i]! > 0;
  const last = i === l.count - 1 || l.depth[i + 1]! < l.depth[i]!;
  return <div class={"json-line" + (p.hit ? " hit" : "")} style={p.style}>
    <span class="indent" style={{ width: `${(l.depth[i]! - p.base) * 2}ch` }} />
    {opens ? <button type="button" class={"fold" + (p.folded ? " folded" : "")} aria-expanded={!p.folded} aria-label={t("toggle")} onClick={() => p.onToggle(i)} tabIndex={-1} /> : <span class="nofold" />}
    {l.keyStart[i]! >= 0 && l.depth[i]! > p.base && <><span class="k">{l.text.slice(l.keyStart[i]!, l.keyEnd[i]!)}</span>: </>}
    <span class={kindOf(value)}>{value}</span>{cut > 0 && <span class="mut"> … {t("moreCharacters", cut)}</span>}
    {p.folded && <span class="mut"> {t("items", l.children[i]!)} {value === "[" ? "]" : "}"}</span>}
    {!opens && !last && ","}
    {!p.folded && opens && l.children[i]! > 9 && <span class="mut"> {t("items", l.children[i]!)}</span>}
  </div>;
}

function kindOf(value: string): string {
  const c = value[0]!;
  return c === '"' ? "s" : c === "{" || c === "[" || c === "}" || c === "]" ? "p" : c === "t" || c === "f" || c === "n" ? "w" : "n";
}

/** TextView shows text of any size, line by line. */
export function TextView({ text, label }: { text: string; label: string }) {
  const lines = useMemo(() => text.split("\n"), [text]);
  if (lines.length < 400 && text.length < 60_000) return <pre class="code text" tabIndex={0} role="group" aria-label={label}>{text}</pre>;
  return <VirtualList class="code" count={lines.length} height={18} label={label}
    row={(i, style) => <div key={i % slots} class="json-line" style={style}>{lines[i]!.slice(0, 2000)}</div>} />;
}
