// Chooses the target: a configured server, the gateway itself, or any other
// server.
import { useEffect, useState } from "preact/hooks";
import { ApiError, type Bench, type Target } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { age } from "../format.ts";
import { t } from "../i18n/index.ts";
import { benches, clients, refreshBenches, servers } from "../live.ts";
import { Notice, Status, errorText, now } from "../parts/basics.tsx";
import { Confirm, EndpointFields, complete, emptyEndpoint, fieldsOf } from "../parts/endpoint.tsx";
import { Head } from "../parts/head.tsx";
import { go, href } from "../router.ts";
import { may } from "../state.ts";
import { toneOf } from "../pages/server_state.ts";
import { connect, labelOf, nameOf } from "./session.ts";

export function Targets() {
  useEffect(() => { void refreshBenches(); commandLine.value = command("inspect", "TARGET"); }, []);
  const schemas = [...new Set(servers.value.map((s) => s.schema))];
  return <div class="page"><Head title={t("bench")} what={t("benchText")} /><div class="scroll"><div class="cols targets">
    <section class="card flush c5" aria-labelledby="h-configured"><header><h2 id="h-configured">{t("servers")}</h2><span class="count">{servers.value.length}</span></header>
      <ul class="plain target-list">
        {servers.value.map((s) => <li key={s.schema + s.name}><a href={href(["bench", s.name])}><Status tone={toneOf(s)} state={s.state}><b>{s.name}</b></Status> <span class="mut">{s.transport} · {t("toolsN", s.tools)}</span></a></li>)}
        {schemas.map((s) => <li key={"~" + s}><a href={href(["bench", "~" + s])}><Status tone="ok"><b>{t("wholeGateway", s)}</b></Status> <span class="mut">{t("asClientsSee")}</span></a></li>)}
      </ul>
      {benches.value.length > 0 && <><header><h2>{t("openSessions")}</h2><span class="count">{benches.value.length}</span></header>
        <ul class="plain target-list">{benches.value.map((b) => <li key={b.id}><a href={href(["bench", nameOf(b)], { via: b.target.server ? viaOf(b) : undefined })}><Status tone={b.down ? "err" : "ok"}><code>{labelOf(b)}</code></Status> <span class="mut">{[b.target.server && b.target.via === "gateway" ? t("viaGateway") : "", b.info.protocol, age(b.opened, now.value)].filter(Boolean).join(" · ")}</span></a></li>)}</ul></>}
    </section>
    <ConnectForm />
  </div></div></div>;
}

const viaOf = (b: Bench) => (b.target.via === "gateway" ? "gateway" : undefined);
const offers = ["sampling", "elicitation", "roots"];

/** configured are the targets of the config file, as a value and a label. */
function configured(): [string, string][] {
  const list: [Target, string][] = [];
  for (const s of servers.value) list.push([{ server: s.name, schema: s.schema, via: "direct" }, s.name], [{ server: s.name, schema: s.schema, via: "gateway" }, t("viaGatewayOf", s.name)]);
  for (const schema of new Set(servers.value.map((s) => s.schema))) list.push([{ schema, via: "gateway" }, t("wholeGateway", schema)]);
  return list.map(([target, label]) => [JSON.stringify(target), label]);
}

function ConnectForm() {
  const [end, setEnd] = useState(emptyEndpoint);
  const [what, setWhat] = useState(may("admin") ? "" : configured()[0]?.[0] ?? "");
  const [protocol, setProtocol] = useState("auto");
  const [as, setAs] = useState("");
  const [identity, setIdentity] = useState({ name: "", version: "" });
  const [offer, setOffer] = useState<string[]>(offers);
  const [error, setError] = useState<{ text: string; lines?: string[] }>();
  const [run, setRun] = useState("");
  const [busy, setBusy] = useState(false);
  const target = (): Target => ({ ...(what ? JSON.parse(what) as Target : fieldsOf(end)), protocol: protocol === "auto" ? undefined : protocol, as: as || undefined,
    clientName: identity.name || undefined, clientVersion: identity.version || undefined, offer: offer.length === offers.length ? undefined : offer });
  const submit = async (confirm?: string) => {
    setBusy(true);
    setError(undefined);
    setRun("");
    try { go(href(["bench", nameOf(await connect(target(), confirm, true))])); } catch (e) {
      if (e instanceof ApiError && e.run) setRun(e.run);
      else setError({ text: errorText(e), lines: e instanceof ApiError ? e.lines : undefined });
    }
    setBusy(false);
  };
  const ready = (what ? may("call") : complete(end) && may("admin")) && !busy;
  return <form class="card connect c7" aria-labelledby="h-connect" onSubmit={(e) => { e.preventDefault(); if (ready) void submit(); }}>
    <h2 id="h-connect">{t("connectAny")}</h2>
    <div class="field"><label for="c-what">{t("target")}</label><select id="c-what" value={what} onChange={(e) => setWhat(e.currentTarget.value)}><option value="">{t("commandOrURL")}</option>
      {configured().map(([value, label]) => <option key={value} value={value}>{label}</option>)}</select></div>
    {!what && !may("admin") && <Notice tone="warn">{t("needsAdmin")}</Notice>}
    {!what && <EndpointFields id="c" value={end} onChange={setEnd} />}
    <details open={!!what}><summary>{t("asWhom")}</summary>
      <div class="two">
        <div class="field"><label for="c-protocol">{t("protocol")}</label><select id="c-protocol" value={protocol} onChange={(e) => setProtocol(e.currentTarget.value)}>
          {["auto", "legacy", "modern", "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"].map((v) => <option key={v}>{v}</option>)}</select></div>
        <div class="field"><label for="c-as">{t("asClient")}</label><select id="c-as" value={as} onChange={(e) => setAs(e.currentTarget.value)}><option value="">{t("myself")}</option>
          {clients.value.map((c) => <option key={c.session} value={c.session}>{c.name} {c.version}</option>)}</select></div>
        <div class="field"><label for="c-name">{t("clientName")}</label><input id="c-name" value={identity.name} placeholder="mcp-all-in-one" onInput={(e) => setIdentity({ ...identity, name: e.currentTarget.value })} /></div>
        <div class="field"><label for="c-version">{t("clientVersion")}</label><input id="c-version" value={identity.version} onInput={(e) => setIdentity({ ...identity, version: e.currentTarget.value })} /></div>
      </div>
      <div class="field" role="group" aria-label={t("capabilities")}><span class="label">{t("capabilities")}</span>{offers.map((o) => <label class="check" key={o}><input type="checkbox" checked={offer.includes(o)}
        onChange={() => setOffer(offer.includes(o) ? offer.filter((x) => x !== o) : [...offer, o])} />{o}</label>)}</div>
    </details>
    {error && <Notice tone="err">{error.text}{error.lines?.length ? <pre class="code text">{error.lines.join("\n")}</pre> : null}</Notice>}
    {run && <Confirm run={run} onYes={() => void submit(run)} onNo={() => setRun("")} />}
    <div class="bar"><button type="submit" class="button primary" disabled={!ready}>{t(busy ? "connectingShort" : "connect")}</button></div>
  </form>;
}
