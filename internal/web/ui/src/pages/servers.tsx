import { useEffect, useState } from "preact/hooks";
import { change, get, path, type Server, type ServerDetail } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { age } from "../format.ts";
import { t } from "../i18n/index.ts";
import { servers } from "../live.ts";
import { Empty, Status, download, errorText, now, toast } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { go, href, query, segments, setQuery } from "../router.ts";
import { may } from "../state.ts";
import { ServerEdit } from "./server_edit.tsx";
import { ServerPage } from "./server.tsx";
import { reasonOf, stateName, toneOf } from "./server_state.ts";
import { ServerImport } from "./server_import.tsx";

export function Servers() {
  const [, first, second] = segments.value;
  if (first === "new") return <ServerEdit />;
  if (first === "import") return <ServerImport />;
  if (first && second) return <ServerPage schema={first} name={second} key={first + "/" + second} />;
  return <ServerList />;
}

/** act runs one of the actions and says what happened. */
export async function act(s: { schema: string; name: string }, action: "enable" | "disable" | "restart" | "approve", body?: unknown): Promise<void> {
  try {
    await change("POST", path("servers", s.schema, s.name, action), body);
    toast(t(`did_${action}`, s.name));
  } catch (e) { toast(errorText(e), undefined, "err"); }
}

/** approve accepts what the page shows; what is something else by now is not approved, and shown instead. */
export async function approve(d: ServerDetail, reload: () => void): Promise<void> {
  await act(d, "approve", { hash: d.approval?.hash ?? "" });
  reload();
}

/** signIn opens the page where a person signs in; the server's state says when it is done. */
export async function signIn(s: { schema: string; name: string }): Promise<void> {
  // Opened at once: a browser blocks a tab that comes later than the click.
  const tab = window.open("about:blank", "_blank");
  try {
    const { address } = await change<{ address: string }>("POST", path("servers", s.schema, s.name, "signin"));
    if (tab) { tab.opener = null; tab.location.href = address; } else location.href = address;
    toast(t("signInOpened", s.name));
  } catch (e) { tab?.close(); toast(errorText(e), undefined, "err"); }
}

/** remove takes a server away, with a way back. */
export async function remove(s: { schema: string; name: string }): Promise<void> {
  try {
    const { undo } = await change<{ undo: string }>("DELETE", path("servers", s.schema, s.name));
    if (segments.peek()[0] === "servers") go("/ui/servers");
    toast(t("removed", s.name), { label: "undo", run: () => void change("POST", path("undo", undo)).catch((e) => toast(errorText(e), undefined, "err")) });
  } catch (e) { toast(errorText(e), undefined, "err"); }
}

async function exportAll(list: Server[]): Promise<void> {
  const out: Record<string, unknown> = {};
  for (const s of list) out[s.name] = (await get<ServerDetail>(path("servers", s.schema, s.name))).entry;
  download("mcp-servers.json", JSON.stringify({ mcpServers: out }, null, 2) + "\n");
}

function ServerList() {
  const filter = query.value.get("q") ?? "";
  const [busy, setBusy] = useState(false);
  useEffect(() => { commandLine.value = command("list", "servers"); }, []);
  const list = servers.value.filter((s) => (s.name + " " + s.state + " " + s.transport + " " + s.schema).toLowerCase().includes(filter.toLowerCase()));
  const save = async () => {
    setBusy(true);
    try { await exportAll(servers.value); } catch (e) { toast(errorText(e), undefined, "err"); }
    setBusy(false);
  };
  return <div class="page">
    <div class="bar">
      <h1>{t("servers")}</h1>
      <input type="search" data-filter value={filter} placeholder={t("filter") + "  /"} aria-label={t("filter")} onInput={(e) => setQuery({ q: e.currentTarget.value })} />
      <span class="space" />
      {may("admin") && <a class="button" href="/ui/servers/import"><Icon name="upload" />{t("import")}</a>}
      <button type="button" class="button" onClick={save} disabled={busy}><Icon name="download" />{t("export")}</button>
      {may("admin") && <a class="button primary" href="/ui/servers/new"><Icon name="plus" />{t("addServer")}</a>}
    </div>
    {list.length ? <div class="table-scroll" tabIndex={0} role="group" aria-label={t("servers")}><table class="servers stack">
      <thead><tr><th>{t("server")}</th><th>{t("state")}</th><th>{t("transport")}</th><th class="r">{t("tools")}</th><th class="r">{t("resources")}</th><th class="r">{t("prompts")}</th><th class="r">{t("restarts")}</th><th><span class="hidden">{t("actions")}</span></th></tr></thead>
      <tbody>{list.map((s) => <ServerRow key={s.schema + "/" + s.name} s={s} />)}</tbody></table></div>
      : <Empty>{servers.value.length ? t("nothingMatches") : t("noServers")}</Empty>}
  </div>;
}

function ServerRow({ s }: { s: Server }) {
  const off = s.state === "disabled";
  return <tr data-testid={"server-" + s.name}>
    <td class="who line"><a class="name" href={href(["servers", s.schema, s.name])}>{s.name}</a> <span class="mut" title={`${s.title ?? ""} ${s.version ?? ""}`}>{s.schema !== "default" ? s.schema : ""} {s.title} {s.version}</span></td>
    <td class="rest"><Status tone={toneOf(s)} state={s.state}>{stateName(s)}{s.state === "up" && s.since ? " " + age(s.since, now.value) : ""}</Status>
      {s.state !== "up" && s.reason && <span class="mut reason" title={reasonOf(s)}> {reasonOf(s)}</span>}</td>
    <td class="mut" title={s.pid ? `pid ${s.pid}` : undefined}>{s.transport} {s.protocol}</td>
    <td class="r" data-label={t("tools")}>{s.tools}</td><td class="r" data-label={t("resources")}>{s.resources}</td><td class="r" data-label={t("prompts")}>{s.prompts}</td><td class="r" data-label={t("restarts")}>{s.restarts}</td>
    <td class="actions line">
      <a href={href(["bench", s.name])}>{t("bench")}</a>
      {may("admin") && <>
        {s.state === "pending" && <a href={href(["servers", s.schema, s.name])}>{t("review")}</a>}
        {s.state === "auth" && <button type="button" class="link" onClick={() => void signIn(s)}>{t("signIn")}</button>}
        <button type="button" class="link" onClick={() => act(s, "restart")} disabled={off}>{t("restart")}</button>
        <button type="button" class="link" onClick={() => act(s, off ? "enable" : "disable")}>{t(off ? "enable" : "disable")}</button>
        <button type="button" class="link danger" onClick={() => remove(s)}>{t("remove")}</button>
      </>}
    </td>
  </tr>;
}
