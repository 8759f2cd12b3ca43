// The list of tools, resources or prompts, filtered as you type.
import { useMemo, useState } from "preact/hooks";
import { t } from "../i18n/index.ts";
import { VirtualList } from "../parts/list.tsx";

export type Item = Record<string, any>;

export function List(p: { items: Item[]; keyOf: (i: Item) => string; selected?: string; onSelect: (key: string) => void; kind: string }) {
  const [filter, setFilter] = useState("");
  const texts = useMemo(() => p.items.map((i) => (p.keyOf(i) + " " + (i.title ?? i.name ?? "") + " " + (i.description ?? "")).toLowerCase()), [p.items]);
  const shown = useMemo(() => p.items.filter((_, i) => texts[i]!.includes(filter.toLowerCase())), [p.items, filter]);
  const at = shown.findIndex((i) => p.keyOf(i) === p.selected);
  return <>
    <div class="bar"><input type="search" data-filter value={filter} placeholder={t("filter") + "  /"} aria-label={t("filter")} onInput={(e) => setFilter(e.currentTarget.value)}
      onKeyDown={(e) => { if (e.key === "Enter" && shown[0]) p.onSelect(p.keyOf(shown[Math.max(0, at)]!)); }} /></div>
    <VirtualList class="feature-list" count={shown.length} height={25} label={t("features")} selected={at >= 0 ? at : undefined} testid="feature-list"
      onMove={(i) => shown[i] && p.onSelect(p.keyOf(shown[i]!))}
      row={(i, style) => <FeatureRow key={p.keyOf(shown[i]!)} item={shown[i]!} id={p.keyOf(shown[i]!)} on={i === at} style={style} kind={p.kind} onSelect={p.onSelect} />} />
  </>;
}

function FeatureRow({ item, id, on, style, kind, onSelect }: { item: Item; id: string; on: boolean; style: Record<string, string>; kind: string; onSelect: (key: string) => void }) {
  const first = (item.description ?? "").split("\n")[0];
  return <button type="button" class={"feature" + (on ? " on" : "")} style={style} aria-current={on ? "true" : undefined} title={id} onClick={() => onSelect(id)} tabIndex={on ? 0 : -1}>
    {kind === "tools" && <Effect tool={item} />}
    {item.uriTemplate && <span class="tag">{"{ }"}</span>}
    <code>{kind === "resources" ? item.title ?? item.name ?? id : id}</code><span class="mut">{kind === "resources" ? id : first}</span>
  </button>;
}

/** Effect says whether a tool reads, writes or destroys. */
export function Effect({ tool }: { tool: Item }) {
  const a = tool.annotations ?? {};
  const [letter, tone, text] = a.readOnlyHint ? ["R", "r", t("readOnly")] : a.destructiveHint ? ["D", "d", t("destructive")] : ["W", "w", t("writes")];
  return <span class={"tag effect " + tone} title={text}>{letter}<span class="hidden"> {text}</span></span>;
}
