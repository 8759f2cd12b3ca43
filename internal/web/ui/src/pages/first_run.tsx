// The first three steps, while the demo server is the only one.
import { useState } from "preact/hooks";
import { get, path, type Program, type ServerDetail } from "../api.ts";
import { t } from "../i18n/index.ts";
import { servers } from "../live.ts";
import { CopyButton, useLoad } from "../parts/basics.tsx";
import { Icon, type IconName } from "../parts/icons.tsx";
import { href } from "../router.ts";
import { may, session } from "../state.ts";

/** useDemo reports whether the only server is the demo server, which is in no file. */
export function useDemo(): boolean {
  const only = servers.value.length === 1 && servers.value[0]!.name === "demo" ? servers.value[0]! : undefined;
  const { value } = useLoad(async () => (only && may("admin") ? get<ServerDetail>(path("servers", only.schema, only.name)) : undefined), [only?.name]);
  return !!only && !!value && !value.entry;
}

function Step({ n, title, icon, children }: { n: number; title: string; icon: IconName; children: preact.ComponentChildren }) {
  return <section class={"card flush c4 step" + (n > 1 ? " later" : "")} aria-labelledby={"step-" + n} data-testid={"step-" + n}><header><span class="no">{n}</span><h2 id={"step-" + n}>{title}</h2><span class="end"><Icon name={icon} /></span></header><div class="body">{children}</div></section>;
}

export function FirstRun({ demo }: { demo: boolean }) {
  const { value: programs } = useLoad(() => (may("admin") ? get<Program[]>("programs") : Promise.resolve([])), []);
  const found = (programs ?? []).filter((p) => p.found && !p.error);
  return <div class="first-run" data-testid="first-run">
    <section class="card hello"><div class="grow"><h2>{t("welcomeTitle")}</h2><p class="mut">{t(demo ? "welcomeDemo" : "welcomeText")}</p></div>
      {demo && <a class="button" href="/ui/bench/demo"><Icon name="play" />{t("tryDemo")}</a>}</section>
    <div class="cols">
      <Step n={1} title={t("stepServer")} icon="plug"><p class="mut">{t("stepServerText")}</p><Found list={found.filter((p) => p.servers.length)} /></Step>
      <Step n={2} title={t("stepClient")} icon="clients"><p class="mut">{t("stepClientText")}</p>
        <div class="found"><span class="h3">{t(found.length ? "readyToConnect" : "byHand")}</span>{found.slice(0, 4).map((p) => <a key={p.id} class="row plain-link" href={href(["clients", p.id])}><span class="mid">{p.name}</span><code class="mut cut end" title={p.file}>{p.file}</code></a>)}{!found.length && <code class="cut">{session.value!.endpoint}</code>}</div>
        <div class="row"><a class="button" href={found[0] ? href(["clients", found[0].id]) : "/ui/clients"}>{t(found.length ? "previewChange" : "connect")}</a><CopyButton label={t("copySnippet")} text={() => JSON.stringify({ mcpServers: { "mcp-all-in-one": { type: "http", url: session.value!.endpoint } } }, null, 2)} /></div></Step>
      <Step n={3} title={t("stepTool")} icon="bench"><p class="mut">{t("stepToolText")}</p>
        <div class="found"><span class="h3">{t("forExample")}</span>{demo ? ["add", "echo", "long_task"].map((x) => <a key={x} class="row plain-link" href={href(["bench", "demo", "tools", x])}><span class="mid">demo</span><code>{x}</code></a>) : <span class="mut">{t("catalogEmpty")}</span>}</div>
        <div class="row"><a class="button" href={demo ? "/ui/bench/demo" : "/ui/bench"}>{t("openBench")}</a></div></Step>
    </div>
    <section class="card ghost" aria-hidden="true"><h2 class="mut">{t("noTraffic")}</h2><div class="skbars">{Array.from({ length: 60 }, (_, i) => <i key={i} class="still" style={{ height: `${25 + ((i * 37) % 60)}%` }} />)}</div></section>
  </div>;
}

/** Found lists the servers of other programs and imports the selected ones. */
function Found({ list }: { list: Program[] }) {
  const [left, setLeft] = useState<Set<string>>(new Set());
  const names = list.filter((p) => !left.has(p.id)).flatMap((p) => p.servers);
  const flip = (id: string) => { const next = new Set(left); if (!next.delete(id)) next.add(id); setLeft(next); };
  const chosen = list.filter((p) => !left.has(p.id)).map((p) => p.id).join();
  return <>
    <div class="found"><span class="h3">{t(list.length ? "foundHere" : "nothingFound")}</span>{list.map((p) => <label key={p.id} class="row"><input type="checkbox" checked={!left.has(p.id)} onChange={() => flip(p.id)} /><span class="mid">{p.name}</span><span class="mut end">{t("serversN", p.servers.length)}</span></label>)}</div>
    <div class="row">{names.length > 0 && <a class="button primary" href={href(["servers", "import"], { from: chosen })}>{t("importServers", names.length)}</a>}<a class={names.length ? "button quiet" : "button primary"} href="/ui/servers/new">{t("addManually")}</a><a class="button quiet" href="/ui/servers/import">{t("pasteConfig")}</a></div>
  </>;
}
