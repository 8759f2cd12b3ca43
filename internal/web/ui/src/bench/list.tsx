// The list of tools, resources or prompts, filtered as you type. Pinned items
// come first.
import { useMemo, useState } from "preact/hooks";
import { get, type Overview } from "../api.ts";
import { count } from "../format.ts";
import { t, type Key } from "../i18n/index.ts";
import { useLoad } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { VirtualList } from "../parts/list.tsx";
import { remembered } from "../state.ts";

export type Item = Record<string, any>;

export interface ToolEffect { mark: "R" | "W" | "D"; tone: "" | "warn" | "err"; label: Key }

/** effectOf returns the effect that a tool declares; a tool that declares none may write. */
export function effectOf(tool: Item): ToolEffect | undefined {
  if (!tool.inputSchema) return undefined;
  const a = tool.annotations ?? {};
  if (a.readOnlyHint) return { mark: "R", tone: "", label: "readOnly" };
  if (a.destructiveHint) return { mark: "D", tone: "err", label: "destructive" };
  return { mark: "W", tone: "warn", label: "writes" };
}

/** Effect shows whether a tool reads, writes or destroys. */
export function Effect({ tool }: { tool: Item }) {
  const e = effectOf({ inputSchema: {}, ...tool })!;
  return <span class={"tag effect " + e.mark.toLowerCase()} title={t(e.label)}>{e.mark}<span class="hidden"> {t(e.label)}</span></span>;
}

const pins = remembered<string[]>("bench.pins", []);

interface ListProps { items: Item[]; keyOf: (i: Item) => string; selected?: string; onSelect: (key: string) => void; kind: string; server?: string }
type Row = { head: string; end?: string } | { item: Item; id: string };

export function List(p: ListProps) {
  const [filter, setFilter] = useState("");
  const { value: stats } = useLoad(() => (p.kind === "tools" && p.server ? get<Overview>("overview").then((o) => o.stats) : Promise.resolve([])), [p.server, p.kind]);
  const calls = useMemo(() => new Map((stats ?? []).filter((s) => s.server === p.server && s.name).map((s) => [s.name!, s.calls])), [stats, p.server]);
  const texts = useMemo(() => p.items.map((i) => (p.keyOf(i) + " " + (i.title ?? i.name ?? "") + " " + (i.description ?? "")).toLowerCase()), [p.items]);
  const shown = useMemo(() => p.items.filter((_, i) => filter.toLowerCase().split(/\s+/).every((w) => texts[i]!.includes(w))), [p.items, filter]);
  const pinKey = (id: string) => `${p.server ?? ""}/${p.kind}/${id}`;
  const rows = useMemo((): Row[] => {
    const all = shown.map((item) => ({ item, id: p.keyOf(item) }));
    const first = all.filter((r) => pins.value.includes(pinKey(r.id)));
    return first.length ? [{ head: t("pinned") }, ...first, { head: t("allN", count(all.length)), end: calls.size ? t("callsColumn") : "" }, ...all.filter((r) => !first.includes(r))] : all;
  }, [shown, pins.value, calls]);
  const at = rows.findIndex((r) => "id" in r && r.id === p.selected);
  const move = (to: number) => { const step = to >= at ? 1 : -1; for (let i = to; i >= 0 && i < rows.length; i += step) { const r = rows[i]!; if ("id" in r) { p.onSelect(r.id); return; } } };
  const pin = (id: string) => { const k = pinKey(id); pins.value = pins.value.includes(k) ? pins.value.filter((x) => x !== k) : [...pins.value, k]; };
  return <>
    <div class="pb"><span class="with-icon grow"><Icon name="search" /><input type="search" data-filter value={filter} placeholder={t("filter")} aria-label={t("filter")} onInput={(e) => setFilter(e.currentTarget.value)}
      onKeyDown={(e) => { if (e.key === "Enter") move(Math.max(0, at)); }} /><kbd>/</kbd></span></div>
    {!rows.length && <p class="mut pad">{t(filter ? "nothingMatches" : "nothingHere")}</p>}
    <VirtualList class="feature-list" count={rows.length} height={28} label={t("features")} selected={at >= 0 ? at : undefined} testid="feature-list" onMove={move}
      row={(i, style) => { const r = rows[i]!; return "head" in r ? <div key={"h" + i} class="feature-head h3" style={style}><span>{r.head}</span><span class="space" /><span>{r.end}</span></div>
        : <FeatureRow key={r.id} {...r} on={i === at} style={style} calls={calls.get(r.id)} onSelect={p.onSelect} pinned={pins.value.includes(pinKey(r.id))} onPin={pin} />; }} />
  </>;
}

function FeatureRow(p: { item: Item; id: string; on: boolean; style: Record<string, string>; calls?: number; pinned: boolean; onSelect: (key: string) => void; onPin: (id: string) => void }) {
  const effect = effectOf(p.item);
  const label = String(p.item.frontmatter ? p.item.frontmatter.name : p.item.uri || p.item.uriTemplate ? p.item.title ?? p.item.name ?? p.id : p.id);
  const first = (p.item.description ?? "").split("\n")[0];
  return <div class={"feature" + (p.on ? " on" : "")} style={p.style}>
    <button type="button" class="plain-button grow" aria-current={p.on ? "true" : undefined} title={p.id + (first ? "\n" + first : "")} onClick={() => p.onSelect(p.id)} tabIndex={p.on ? 0 : -1}>
      {effect ? <Effect tool={p.item} /> : p.item.uriTemplate ? <span class="tag effect" title={t("template")}>{"{}"}</span> : null}<code>{label}</code></button>
    <button type="button" class="pin" tabIndex={-1} aria-pressed={p.pinned} aria-label={t(p.pinned ? "unpin" : "pin") + " " + p.id} title={t(p.pinned ? "unpin" : "pin")} onClick={() => p.onPin(p.id)}>{p.pinned ? "★" : "☆"}</button>
    {p.calls ? <span class="mut num">{count(p.calls)}</span> : null}
  </div>;
}
