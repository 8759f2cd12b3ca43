// A body of any size as a tree. The gateway splits it; the page holds only the
// open parts.
import { useEffect, useState } from "preact/hooks";
import { text, type Part, type PartItem } from "../api.ts";
import { bytes, count } from "../format.ts";
import { t } from "../i18n/index.ts";
import { Exact, parse, stringify, type Json } from "../json/exact.ts";
import { Notice, errorText } from "./basics.tsx";

const page = 200;
const escape = (key: string) => "/" + key.replaceAll("~", "~0").replaceAll("/", "~1");

/** read keeps every digit of the values. */
const read = async (url: string) => parse(await text(url)) as unknown as Part;

export function PartTree({ url, label }: { url: string; label: string }) {
  return <div class="tree code" tabIndex={0} role="group" aria-label={label} data-testid="tree"><Branch url={url} path="" /></div>;
}

/** Branch shows the members of an object or array, a page at a time. */
function Branch({ url, path }: { url: string; path: string }) {
  const [part, setPart] = useState<Part>();
  const [error, setError] = useState("");
  const more = (offset: number) => read(`${url}&path=${encodeURIComponent(path)}&limit=${page}&offset=${offset}`).then(
    (p) => setPart((old) => ({ ...p, items: [...(offset && old?.items || []), ...(p.items ?? [])] })), (e) => setError(errorText(e)));
  useEffect(() => { void more(0); }, [url, path]);
  if (error) return <Notice tone="err">{error}</Notice>;
  if (!part) return <p class="mut pad">…</p>;
  if (!part.items) return <Leaf value={part.value} size={part.size} />;
  const left = (part.count ?? 0) - part.items.length;
  return <ul class="plain">{part.items.map((i) => <Node key={i.key} url={url} path={path + escape(i.key)} item={i} />)}
    {left > 0 && <li><button type="button" class="link" onClick={() => void more(part.items!.length)}>{t("moreItems", count(Math.min(page, left)), count(left))}</button></li>}</ul>;
}

function Node({ url, path, item }: { url: string; path: string; item: PartItem }) {
  const [open, setOpen] = useState(false);
  const nested = item.kind === "object" || item.kind === "array";
  if (!nested && item.value !== undefined) return <li><span class="nofold" /><span class="k">{item.key}</span>: <Leaf value={item.value} size={item.size} /></li>;
  return <li><button type="button" class={"fold" + (open ? "" : " folded")} aria-expanded={open} aria-label={`${t("toggle")} ${item.key}`} onClick={() => setOpen(!open)} /><span class="k">{item.key}</span>{" "}
    <span class="mut">{item.kind === "array" ? "[ ]" : item.kind === "object" ? "{ }" : item.kind} {item.count !== undefined ? t("items", count(item.count)) + " · " : ""}{bytes(item.size)}</span>
    {open && <div class="nest"><Branch url={url} path={path} /></div>}</li>;
}

function Leaf({ value, size }: { value: unknown; size: number }) {
  if (value === undefined) return <span class="mut">{bytes(size)}</span>;
  const shown = stringify(value as Json);
  return <span class={typeof value === "string" ? "s" : typeof value === "number" || value instanceof Exact ? "n" : "w"}>{shown.slice(0, 4000)}{shown.length > 4000 ? "…" : ""}</span>;
}
