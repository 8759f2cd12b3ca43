// The messages of a run on the wire: from the Bench, and from the gateway to
// the server.
import { useEffect, useState } from "preact/hooks";
import { get, path, type Bench, type Call, type Frame, type Run, type Slice } from "../api.ts";
import { bytes, ns } from "../format.ts";
import { t } from "../i18n/index.ts";
import { JsonView } from "../json/view.tsx";
import { Empty, useLoad } from "../parts/basics.tsx";
import { AppWire } from "./app/app.tsx";
import { href } from "../router.ts";

export function Wire({ run, bench }: { run: Run; bench: Bench }) {
  const [frames, setFrames] = useState<Frame[]>();
  useEffect(() => { void get<Frame[]>(path("runs", run.id, "body") + "?part=wire").then(setFrames, () => setFrames([])); }, [run.id, run.status]);
  if (!frames) return null;
  const through = bench.target.via === "gateway";
  return <div class="wire scroll" data-testid="wire">
    <section class="hop" aria-label={t(through ? "hopGateway" : "hopDirect")} data-testid="hop-1"><h3>{t(through ? "hopGateway" : "hopDirect")}</h3>
      {!frames.length && <Empty>{t("noWire")}</Empty>}
      {frames.map((f, i) => <Message key={i} sent={f.sent} text={f.body} what={`+${ns(f.at)}${f.status ? ` · HTTP ${f.status}` : ""}`} header={f.header} />)}
    </section>
    {through && <Far run={run} />}
    <AppWire run={run} />
  </div>;
}

function Message(p: { sent: boolean; text: string; what: string; header?: Record<string, string> }) {
  const label = t(p.sent ? "sent" : "received");
  return <div role="group" class="message-frame" aria-label={label} data-testid={p.sent ? "sent" : "received"}>
    <div class="bar"><b>{p.sent ? "→" : "←"} {label}</b><span class="mut">{p.what} · {bytes(p.text.length)}</span></div>
    {p.header && <dl class="headers">{Object.entries(p.header).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl>}
    <div class="json-box"><JsonView fit text={p.text} label={label} /></div>
  </div>;
}

/** Far shows the second hop, from the gateway's record. */
function Far({ run }: { run: Run }) {
  const { value, error } = useLoad(async () => (run.trafficId ? (await get<{ related: Call[] }>(path("traffic", run.trafficId))).related : []), [run.id, run.status]);
  const far = value?.filter((c) => c.hop === "server");
  return <section class="hop" aria-label={t("hopFar")} data-testid="hop-2"><h3>{t("hopFar")}
    {run.trafficId ? <a class="link end" href={href(["traffic", String(run.trafficId)])}>{t("traffic")}</a> : null}</h3>
    {error && <p class="mut pad">{t("noWire")}</p>}
    {far && !far.length && <p class="mut pad">{t("ownAnswer")}</p>}
    {far?.map((c) => <FarCall key={c.id} c={c} />)}
  </section>;
}

function FarCall({ c }: { c: Call }) {
  const side = (s: string) => get<Slice>(`${path("traffic", c.id, "body")}?side=${s}&limit=262144`).then((x) => x.text, () => "");
  const { value } = useLoad(async () => [await side("req"), await side("res")] as const, [c.id, c.status]);
  if (!value) return null;
  const envelope = (key: string, text: string) => `{"method":${JSON.stringify(c.method)}${text ? `,"${key}":${text}` : ""}}`;
  const what = `${c.server ?? ""} · ${c.method}`;
  return <>
    <Message sent={!c.fromServer} text={envelope("params", value[0])} what={what} />
    {c.kind === "call" && value[1] && <Message sent={!!c.fromServer} text={value[1]} what={`${what} · ${ns(c.total)}`} />}
  </>;
}
