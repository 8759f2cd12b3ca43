// An app next to its data, with its messages and denied requests below.
import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import { path, text as getText, type Bench, type Run } from "../../api.ts";
import { bytes, ns } from "../../format.ts";
import { t } from "../../i18n/index.ts";
import { member } from "../../json/members.ts";
import { JsonView } from "../../json/view.tsx";
import { IconButton, Notice, Status, errorText } from "../../parts/basics.tsx";
import { Icon } from "../../parts/icons.tsx";
import { remembered } from "../../state.ts";
import type { Item } from "../list.tsx";
import { ask } from "../session.ts";
import type { AppMessage, Denial } from "./host.ts";

/** appLogs are the messages of the apps that were shown, by run. The wire tab shows them. */
export const appLogs = signal<ReadonlyMap<string, AppMessage[]>>(new Map());
const mostMessages = 500;

/** appOf returns the address of the app that shows a result. */
export function appOf(tool: Item | undefined, content: any[]): string | undefined {
  const meta = tool?._meta;
  const own = meta?.ui?.resourceUri ?? meta?.["ui/resourceUri"];
  const linked = content.map((c) => (c?.type === "resource" ? c.resource?.uri : c?.type === "resource_link" ? c.uri : undefined)).find((uri) => typeof uri === "string" && uri.startsWith("ui://"));
  const uri = own ?? linked;
  return typeof uri === "string" && uri.startsWith("ui://") ? uri : undefined;
}

interface Page { html: string; csp: unknown; permissions: string[] }

/** load reads the app through the session of the Bench. */
async function load(bench: Bench, uri: string): Promise<Page> {
  const { text } = await ask(bench.id, "resources/read", JSON.stringify({ uri }));
  const c = (JSON.parse(member(text, "contents") ?? "[]") as any[])[0];
  if (!c || !/^text\/html/.test(c.mimeType ?? "")) throw new Error(t("noApp", uri));
  const html = c.text ?? new TextDecoder().decode(Uint8Array.from(atob(c.blob ?? ""), (x) => x.charCodeAt(0)));
  return { html, csp: c._meta?.ui?.csp ?? {}, permissions: Object.keys(c._meta?.ui?.permissions ?? {}) };
}

const wide = remembered("bench.app.wide", false);

export function AppView(p: { run: Run; bench: Bench; tool?: Item; tools: Item[]; uri: string; text: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [page, setPage] = useState<Page>();
  const [error, setError] = useState("");
  const [again, setAgain] = useState(0);
  const [denied, setDenied] = useState<Denial[]>([]);
  const [height, setHeight] = useState(0);
  useEffect(() => {
    let live = true;
    setError(""); setDenied([]); setPage(undefined);
    load(p.bench, p.uri).then((x) => { if (live) { setPage(x); setDenied(x.permissions.map((what) => ({ what: "permission", detail: what }))); } }, (e) => live && setError(errorText(e)));
    return () => { live = false; };
  }, [p.bench.id, p.uri, p.run.id, again]);
  useEffect(() => {
    if (!page || !frame.current) return;
    let stop = () => {}, live = true;
    const el = frame.current;
    const log: AppMessage[] = [];
    void Promise.all([import("./host.ts"), getText(path("runs", p.run.id))]).then(([host, run]) => {
      if (!live) return;
      stop = host.mount({
        frame: el, bench: p.bench.id, tools: p.tools, tool: p.tool, html: page.html, args: host.argumentsOf(member(run, "params")), result: JSON.parse(p.text),
        onMessage: (m) => { if (log.length < mostMessages) { log.push(m); appLogs.value = new Map(appLogs.peek()).set(p.run.id, [...log]); } },
        onDenied: (d) => setDenied((list) => (list.some((x) => x.what === d.what && x.detail === d.detail) ? list : [...list, d].slice(0, 100))),
        onHeight: (px) => setHeight(Math.min(px, 4000)),
      });
      el.src = "/ui/app-frame?csp=" + encodeURIComponent(JSON.stringify(page.csp));
    }, (e) => setError(errorText(e)));
    return () => { live = false; stop(); };
  }, [page]);
  const log = appLogs.value.get(p.run.id) ?? [];
  return <div class={"duo" + (wide.value ? " wide" : "")} data-testid="app">
    <div class="frame">
      <div class="frame-bar"><Icon name="catalog" /><code class="cut">{p.uri}</code><span class="tag line" title={t("sandboxHint")}>{t("sandboxed")}</span><span class="space" />
        <IconButton icon="refresh" label={t("reloadApp")} onClick={() => setAgain((n) => n + 1)} /><IconButton icon="panel" label={t("fullWidth")} pressed={wide.value} onClick={() => { wide.value = !wide.value; }} /></div>
      {error ? <Notice tone="err">{error}</Notice>
        : <div class="appbox"><iframe key={again} ref={frame} title={p.uri} sandbox="allow-scripts allow-forms" style={{ minHeight: height ? `${height}px` : undefined }} data-testid="app-frame" /></div>}
      {denied.length > 0 && <ul class="denied" aria-label={t("denied")} data-testid="denied">{denied.map((d) => <li key={d.what + d.detail}><Status tone="warn">{t("deniedOne", d.what)}</Status> <code class="cut" title={d.detail}>{d.detail}</code></li>)}</ul>}
      <div class="applog" data-testid="app-log">{log.slice(-4).map((m, i) => <div key={log.length + i}>+{ns(m.at * 1e6)} {m.from === "app" ? "app → host" : "host → app"} <b>{nameOf(m)}</b> <span>{bytes(JSON.stringify(m.message).length)}</span></div>)}</div>
    </div>
    {!wide.value && <div class="duo-data"><JsonView text={p.text} member={member(p.text, "structuredContent") ? "structuredContent" : undefined} label={t("structured")} /></div>}
  </div>;
}

const nameOf = (m: AppMessage) => m.message.method?.replace(/^ui\/notifications\//, "") ?? (m.message.error ? "error" : "result");

/** AppWire are the messages between the app and the Bench. */
export function AppWire({ run }: { run: Run }) {
  const log = appLogs.value.get(run.id);
  if (!log?.length) return null;
  return <section class="hop" aria-label={t("hopApp")} data-testid="hop-app"><h3>{t("hopApp")}</h3>
    {log.map((m, i) => <div role="group" aria-label={m.from === "app" ? t("fromApp") : t("toApp")} key={i} class="message-frame">
      <div class="bar"><b>{m.from === "app" ? "→" : "←"} {m.from === "app" ? t("fromApp") : t("toApp")}</b><span class="mut">+{ns(m.at * 1e6)} · {nameOf(m)}</span></div>
      <div class="json-box"><JsonView fit text={JSON.stringify(m.message)} label={nameOf(m)} /></div></div>)}
  </section>;
}
