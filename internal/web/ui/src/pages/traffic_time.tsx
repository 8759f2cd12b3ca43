// Where the time of a call went, on both hops.
import { Fragment } from "preact";
import type { Call } from "../api.ts";
import { ns } from "../format.ts";
import { t } from "../i18n/index.ts";
import { nice } from "../parts/chart.tsx";

interface Part { label: string; kind: string; from: number; took: number }
interface Hop { title: string; parts: Part[] }

/** split returns the hops of a call: when each began, and what took how long. In nanoseconds. */
export function split(call: Call, related: Call[]): Hop[] {
  const began = Date.parse(call.start), offset = (c: Call) => Math.max(0, (Date.parse(c.start) - began) * 1e6);
  const down = related.filter((c) => c.hop === "server" && c.kind === "call" && !c.fromServer && c.id !== call.id);
  if (call.hop !== "client") return [{ title: t("hopOut"), parts: serverParts(call, 0) }];
  if (!down.length) return [{ title: t("hopIn"), parts: [{ label: t("gateway"), kind: "k-gw", from: 0, took: call.total }] }];
  // Start times are in whole milliseconds; the gateway's own share is exact.
  const own = call.gateway ?? 0, first = Math.min(...down.map(offset)), before = Math.min(own, first || own / 2);
  const hops: Hop[] = [{ title: t("hopIn"), parts: [{ label: t("readCheck"), kind: "k-gw", from: 0, took: before }] }];
  for (const c of down) hops.push({ title: `${t("hopOut")} · ${c.server}`, parts: [...serverParts(c, Math.max(before, offset(c))), ...asked(related, c, began)] });
  hops.push({ title: t("hopBack"), parts: [{ label: t("translateWrite"), kind: "k-gw", from: Math.max(0, call.total - (own - before)), took: own - before }] });
  return hops;
}

function serverParts(c: Call, from: number): Part[] {
  if (c.serverTime === undefined && c.transport === undefined) return [{ label: t("unknownSplit"), kind: "hatch", from, took: c.total }];
  const net = c.transport ?? 0, work = c.serverTime ?? Math.max(0, c.total - net);
  return [...(net ? [{ label: t("sendReceive"), kind: "k-net", from, took: net }] : []), { label: t("serverWorks"), kind: "k-srv", from: from + net / 2, took: work }];
}

/** asked returns the server's questions during a call. */
const asked = (related: Call[], c: Call, began: number): Part[] => related.filter((x) => x.fromServer && x.kind === "call" && x.parent === c.id)
  .map((x) => ({ label: t("questionAsked", x.method.split("/")[0]!), kind: "ask", from: Math.max(0, (Date.parse(x.start) - began) * 1e6), took: x.total }));

export function TimeSplit({ call, related }: { call: Call; related: Call[] }) {
  if (call.status === "pending" || call.kind !== "call") return null;
  const hops = split(call, related), whole = Math.max(1, call.total, ...hops.flatMap((h) => h.parts.map((p) => p.from + p.took)));
  const [unit, per] = whole < 1e5 ? ["µs", 1e3] as const : whole < 1e9 ? ["ms", 1e6] as const : ["s", 1e9] as const;
  const ticks = nice(whole / per).ticks.filter((v) => v * per <= whole), last = ticks.at(-1)!;
  const share = (n: number) => `${Math.min(100, (n / whole) * 100)}%`;
  return <section aria-labelledby="time-h" data-testid="waterfall"><div class="row"><h2 id="time-h">{t("where")}</h2><b class="end num">{ns(call.total)}</b></div>
    <div class="wf" style={{ "--tick": share((ticks[1] ?? 1) * per) }}>{hops.map((h, i) => <Fragment key={i}><span class="hop">{h.title}</span>
      {h.parts.map((p, j) => <Fragment key={j}><span class="lb" title={p.label}>{p.label}</span><span class="ln"><i class={p.kind} style={{ left: share(Math.min(p.from, whole * 0.995)), width: share(p.took) }} /></span><span class="v">{ns(p.took)}</span></Fragment>)}</Fragment>)}
      <span class="ax" aria-hidden="true">{ticks.map((v) => <span key={v} class={v * per > whole * 0.9 ? "end" : ""} style={{ left: share(v * per) }}>{+v.toFixed(2)}{v === last && " " + unit}</span>)}</span></div>
  </section>;
}
