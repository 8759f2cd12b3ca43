// Connected clients, and how to connect more.
import { useEffect, useState } from "preact/hooks";
import { get, type Client, type Program } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { count } from "../format.ts";
import { said, t } from "../i18n/index.ts";
import { clients } from "../live.ts";
import { CopyButton, Empty, Notice, Status, now, useLoad } from "../parts/basics.tsx";
import { Head } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { go, href, segments } from "../router.ts";
import { may, session } from "../state.ts";
import { Wizard } from "./connect.tsx";
import { isQuiet, seen, seenText } from "./client_seen.ts";

export function Clients() {
  const chosen = segments.value[1];
  const { value, error, reload } = useLoad(() => get<Program[]>("programs"), []);
  const program = value?.find((p) => p.id === chosen);
  useEffect(() => { if (!chosen) commandLine.value = command("list", "clients"); }, [chosen]);
  const sorted = [...clients.value].sort((a, b) => seen(b) - seen(a));
  return <div class="page clients-page"><Head title={t("clientsTitle")} what={t("clientsText")} />
    {error && <Notice tone="err">{error}</Notice>}
    <div class="scroll"><div class="cols wide top">
      <section class="card flush c6" aria-labelledby="h-here"><header><h2 id="h-here">{t("clients")}</h2><span class="count">{clients.value.length}</span></header>
        {sorted.length ? <ul class="plain client-list">{sorted.map((c) => <Connected key={c.session} c={c} />)}</ul> : <Empty><b>{t("noClients")}</b><span>{t("noClientsText")}</span></Empty>}
        <div class="body"><ByHand /></div>
      </section>
      <section class="card flush c6" aria-labelledby="h-more"><header><h2 id="h-more">{t("connectAnother")}</h2></header>
        {program ? <Wizard key={program.id} program={program} onDone={reload} onClose={() => go("/ui/clients")} />
          : <ul class="plain program-list">{ordered(value ?? []).map((p) => <ProgramRow key={p.id} p={p} />)}</ul>}
      </section>
    </div></div>
  </div>;
}

/** ordered puts the programs that were found first. */
const ordered = (list: Program[]) => [...list].sort((a, b) => Number(b.found) - Number(a.found));

function Connected({ c }: { c: Client }) {
  const offers = Object.keys(c.capabilities ?? {});
  return <li data-testid={"client-" + c.name}>
    <div><Status tone={isQuiet(c) ? "idle" : "ok"} state={isQuiet(c) ? "quiet" : "here"}><b>{c.name || t("unnamed")}</b> {c.version}</Status>
      <span class="mut" data-testid="seen">{now.value - seen(c) < 10_000 ? t("activeNow") : t("quietFor", seenText(c))}</span>
      <span class="links"><a href={href(["catalog"], { as: c.session })}>{t("lens")}</a> <a href={href(["traffic"], { q: "session:" + c.session })}>{t("traffic")}</a></span></div>
    <div class="mut"><span>{[`${c.transport} ${c.protocol}`, c.schema && c.schema !== "default" ? c.schema : "", c.principal, t("callsCount", count(c.calls)), offers.length ? "" : t("offersNothing")].filter(Boolean).join(" · ")}</span>
      {offers.length > 0 && <span class="offers">{offers.map((o) => <span class="tag" key={o}>{o}</span>)}</span>}</div>
  </li>;
}

function ByHand() {
  const snippet = JSON.stringify({ mcpServers: { "mcp-all-in-one": { type: "http", url: session.value!.endpoint } } }, null, 2);
  return <details><summary>{t("byHand")}</summary><p class="mut">{t("byHandText")}</p>
    <pre class="code text" tabIndex={0} role="group" aria-label={t("byHand")}>{snippet}</pre><CopyButton text={() => snippet} /></details>;
}

function ProgramRow({ p }: { p: Program }) {
  const [shown, setShown] = useState(false);
  const state = p.connected ? "ok" : p.error ? "err" : "idle";
  return <li data-testid={"program-" + p.id}>
    <Status tone={state} state={p.connected ? "connected" : p.found ? "found" : "absent"}><b>{p.name}</b></Status>
    <code class="mut file" title={p.file}>{said(p.error, p.errorZH) || (p.found ? p.file : t("notInstalled"))}</code>
    <span class="links">{p.servers.length > 0 && <button type="button" class="link" aria-expanded={shown} onClick={() => setShown(!shown)}>{t("ownServers", p.servers.length)}</button>}
      {may("admin") && !p.error && <a class="button" href={href(["clients", p.id])}><Icon name={p.connected ? "power" : "plus"} />{t(p.connected ? "disconnect" : "connect")}…</a>}</span>
    {shown && <p class="mut wide">{p.servers.join(", ")}</p>}
  </li>;
}
