// A list of objects as a table.
import { useMemo } from "preact/hooks";
import { t } from "../i18n/index.ts";
import { isObject, parse, stringify, type Json } from "../json/exact.ts";
import { VirtualList, slots } from "../parts/list.tsx";

/** findTable returns the first list of objects in a result. */
export function findTable(structured: string | undefined, content: any[]): (() => Json[]) | undefined {
  const text = structured ?? (content.length === 1 && content[0]?.type === "text" ? String(content[0].text) : undefined);
  if (!text || !/^\s*[[{]/.test(text) || !/\[\s*\{/.test(text.slice(0, 20_000))) return undefined;
  return () => {
    let v: Json;
    try { v = parse(text); } catch { return []; }
    const lists = [v, ...(isObject(v) ? Object.values(v) : [])].filter((x): x is Json[] => Array.isArray(x) && isObject(x[0]));
    return lists[0] ?? [];
  };
}

export function Table({ rows: find }: { rows: () => Json[] }) {
  const rows = useMemo(find, [find]);
  const columns = useMemo(() => [...new Set(rows.slice(0, 50).flatMap((r) => (isObject(r) ? Object.keys(r) : [])))].slice(0, 30), [rows]);
  const cell = (r: Json, c: string) => { const v = isObject(r) ? r[c] : undefined; return v === undefined ? "" : typeof v === "string" ? v : stringify(v); };
  const grid = { gridTemplateColumns: `repeat(${columns.length}, minmax(80px, 220px))` };
  return <VirtualList class="grid data-table" role="grid" count={rows.length} height={28} label={t("table")} testid="table-rows"
    header={<div class="grid-head" role="rowgroup"><div class="grid-row" role="row" style={grid}>{columns.map((c) => <span key={c} role="columnheader">{c}</span>)}</div></div>}
    row={(i, style) => <div key={i % slots} class="grid-row" role="row" aria-rowindex={i + 1} style={{ ...style, ...grid }}>{columns.map((c) => <span key={c} role="gridcell" title={cell(rows[i]!, c).slice(0, 300)}>{cell(rows[i]!, c).slice(0, 200)}</span>)}</div>} />;
}
