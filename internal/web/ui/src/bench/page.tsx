import { useEffect, useState } from "preact/hooks";
import { ApiError, change, get, path, type Bench } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { said, t } from "../i18n/index.ts";
import { benches, on, refreshBenches, servers } from "../live.ts";
import { IconButton, Notice, Status, Tabs, errorText, toast } from "../parts/basics.tsx";
import { go, href, query, segments } from "../router.ts";
import { List, type Item } from "./list.tsx";
import { learn } from "./known.ts";
import { PromptPane } from "./prompt.tsx";
import { ResourcePane } from "./resource.tsx";
import { SessionPane } from "./session_pane.tsx";
import { labelOf, open } from "./session.ts";
import { Targets } from "./targets.tsx";
import { ToolPane } from "./tool.tsx";

export function BenchPage() {
  const target = segments.value[1];
  if (!target) return <Targets />;
  return <Workbench key={target + (query.value.get("via") ?? "")} target={target} via={query.value.get("via")} />;
}

type Kind = "tools" | "resources" | "prompts" | "session";
interface Lists { tools?: Item[]; resources?: Item[]; templates?: Item[]; prompts?: Item[] }

function Workbench({ target, via }: { target: string; via: string | null }) {
  const [bench, setBench] = useState<Bench>();
  const [error, setError] = useState<{ text: string; lines?: string[] }>();
  const [again, setAgain] = useState(0);
  useEffect(() => {
    let live = true;
    setError(undefined);
    open(target, via, again > 0).then((b) => live && setBench(b),
      (e) => live && setError({ text: errorText(e), lines: e instanceof ApiError ? e.lines : undefined }));
    return () => { live = false; };
  }, [target, via, again]);
  const retry = () => { setBench(undefined); setAgain((n) => n + 1); };
  if (error) return <div class="page"><div class="bar"><h1>{target}</h1></div>
    <Notice tone="err">{t("connectFailed", target, error.text)}{error.lines?.length ? <pre class="code text">{error.lines.join("\n")}</pre> : null}</Notice>
    <div class="bar"><button type="button" class="button primary" onClick={retry}>{t("retry")}</button><a class="button" href="/ui/bench">{t("otherTarget")}</a></div></div>;
  if (!bench) return <div class="page"><h1 class="hidden">{target}</h1><p class="pad"><Status tone="busy">{t("connecting", target)}</Status></p></div>;
  return <Connected bench={benches.value.find((b) => b.id === bench.id) ?? bench} target={target} via={via} onRetry={retry} />;
}

function useLists(bench: Bench, target: string): { lists: Lists; errors: Record<string, string>; reload: () => void } {
  const [lists, setLists] = useState<Lists>({});
  const [errors, setErrors] = useState<Record<string, string>>({});
  const load = (kind: keyof Lists, fresh = false) => get<{ items: Item[] }>(path("bench", bench.id, "list", kind) + (fresh ? "?fresh=1" : "")).then((a) => {
    setLists((l) => ({ ...l, [kind]: a.items }));
    if (kind !== "templates") learn(target, kind, a.items.map((i) => String(i.name && kind !== "resources" ? i.name : i.uri)));
  }, (e) => setErrors((x) => ({ ...x, [kind]: errorText(e) })));
  const all = (fresh = false) => {
    const caps = bench.info.capabilities ?? {};
    if (caps.tools) void load("tools", fresh);
    if (caps.resources) { void load("resources", fresh); void load("templates", fresh); }
    if (caps.prompts) void load("prompts", fresh);
  };
  useEffect(() => {
    all();
    return on("bench", (e) => {
      if (e.bench !== bench.id || e.type !== "notification") return;
      if (e.method === "notifications/tools/list_changed") void load("tools");
      if (e.method === "notifications/prompts/list_changed") void load("prompts");
      if (e.method === "notifications/resources/list_changed") { void load("resources"); void load("templates"); }
    });
  }, [bench.id]);
  return { lists, errors, reload: () => all(true) };
}

function Connected({ bench, target, via, onRetry }: { bench: Bench; target: string; via: string | null; onRetry: () => void }) {
  const { lists, errors, reload } = useLists(bench, target);
  const caps = bench.info.capabilities ?? {};
  const kind = (segments.value[2] ?? (caps.tools ? "tools" : caps.prompts ? "prompts" : caps.resources ? "resources" : "session")) as Kind;
  const name = segments.value[3];
  const link = (k: string, n?: string) => href(["bench", target, k, ...(n ? [n] : [])], { via: via ?? undefined });
  useEffect(() => { if (!name) commandLine.value = command("inspect", target); }, [target, name]);
  const close = async () => {
    try { await change("DELETE", path("bench", bench.id)); await refreshBenches(); } catch (e) { toast(errorText(e), undefined, "err"); }
    go("/ui/bench");
  };
  const items = kind === "tools" ? lists.tools : kind === "prompts" ? lists.prompts : kind === "resources" ? [...(lists.resources ?? []), ...(lists.templates ?? [])] : undefined;
  const keyOf = (i: Item) => String(kind === "resources" ? i.uri ?? i.uriTemplate : i.name);
  const item = items?.find((i) => keyOf(i) === name);
  const configured = servers.value.some((s) => s.name === target);
  return <div class={"workbench" + (name ? " has-item" : "")}>
    <section class="pane list-pane" aria-label={t("features")}>
      <div class="bar"><h1 title={labelOf(bench)}>{labelOf(bench)}</h1>
        <Status tone={bench.down ? "err" : "ok"} state={bench.down ? "down" : "up"}><span class="mut">{bench.info.protocol} · {bench.info.transport}</span></Status><span class="space" />
        <IconButton icon="refresh" label={t("refresh")} onClick={reload} /><IconButton icon="power" label={t("disconnect")} onClick={() => void close()} /></div>
      {configured && <div class="bar"><label class="hidden" for="via">{t("via")}</label>
        <select id="via" value={via ?? "direct"} onChange={(e) => go(href(["bench", target, ...(kind !== "session" ? [kind] : [])], { via: e.currentTarget.value === "gateway" ? "gateway" : undefined }))}><option value="direct">{t("direct")}</option><option value="gateway">{t("viaGateway")}</option></select></div>}
      {bench.down && <Notice tone="err">{said(bench.down, bench.downZH)} <button type="button" class="link" onClick={onRetry}>{t("reconnect")}</button></Notice>}
      <div class="bar"><Tabs name="bench" label={t("features")} selected={kind} onSelect={(k) => go(link(k))} tabs={[
        { id: "tools", label: t("toolsN", lists.tools?.length ?? "…"), hidden: !caps.tools },
        { id: "resources", label: t("resourcesN", lists.resources ? lists.resources.length + (lists.templates?.length ?? 0) : "…"), hidden: !caps.resources },
        { id: "prompts", label: t("promptsN", lists.prompts?.length ?? "…"), hidden: !caps.prompts },
        { id: "session", label: t("session") }]} /></div>
      {errors[kind] && <Notice tone="err">{errors[kind]}</Notice>}
      <div role="tabpanel" id="bench-panel" aria-labelledby={"bench-tab-" + kind} class="fill">
        {items && kind !== "session" && <List items={items} keyOf={keyOf} selected={name} onSelect={(n) => go(link(kind, n))} kind={kind} />}
        {kind === "session" && <p class="pad mut">{bench.info.handshake?.instructions ?? t("noInstructions")}</p>}
      </div>
    </section>
    {kind === "session" ? <SessionPane bench={bench} />
      : kind === "tools" && item ? <ToolPane key={bench.id + name} bench={bench} tool={item} target={target} />
        : kind === "prompts" && item ? <PromptPane key={bench.id + name} bench={bench} prompt={item} target={target} />
          : kind === "resources" && (item || name) ? <ResourcePane key={bench.id + name} bench={bench} item={item ?? { uri: name }} target={target} resources={lists.resources ?? []} />
            : <section class="pane wide-pane"><p class="empty">{t(items && !items.length ? "nothingHere" : name && items ? "notListed" : "chooseItem", name ?? "")}</p></section>}
  </div>;
}
