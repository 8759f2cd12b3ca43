import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, change, get, path, type Bench } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { said, t } from "../i18n/index.ts";
import { benches, on, refreshBenches, servers } from "../live.ts";
import { Notice, Status, errorText, toast } from "../parts/basics.tsx";
import { go, href, query, segments } from "../router.ts";
import { BenchHead } from "./head.tsx";
import { List, type Item } from "./list.tsx";
import { learn } from "./known.ts";
import { Gutter, paneStyle, usePaneKeys } from "./panes.tsx";
import { PromptPane } from "./prompt.tsx";
import { ResourcePane } from "./resource.tsx";
import { ScriptList, ScriptPane } from "./script.tsx";
import { SignIn } from "./signin.tsx";
import { SkillPane, skillsExtension } from "./skills.tsx";
import { SessionPane } from "./session_pane.tsx";
import { open } from "./session.ts";
import { Targets } from "./targets.tsx";
import { ToolPane } from "./tool.tsx";

export function BenchPage() {
  const target = segments.value[1];
  if (!target) return <Targets />;
  return <Workbench key={target + (query.value.get("via") ?? "")} target={target} via={query.value.get("via")} />;
}

type Kind = "tools" | "resources" | "prompts" | "skills" | "script" | "session";
interface Lists { skills?: Item[]; tools?: Item[]; resources?: Item[]; templates?: Item[]; prompts?: Item[] }

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
  const server = servers.value.find((s) => s.name === target);
  // The server may be up before the page gets the event that the sign-in is
  // done.
  const guarded = useRef(false);
  guarded.current ||= server?.state === "auth";
  const retry = () => { setBench(undefined); setAgain((n) => n + 1); };
  if (error) return <div class="page"><div class="bar"><h1>{target}</h1></div>
    <Notice tone="err">{t("connectFailed", target, error.text)}{error.lines?.length ? <pre class="code text">{error.lines.join("\n")}</pre> : null}</Notice>
    {server && guarded.current && <SignIn schema={server.schema} server={server.name} onDone={() => go(href(["bench", target], { via: "gateway" }))} />}
    <div class="bar"><button type="button" class="button" onClick={retry}>{t("retry")}</button>{server && via !== "gateway" && <a class="button" href={href(["bench", target], { via: "gateway" })}>{t("viaGateway")}</a>}<a class="button" href="/ui/bench">{t("otherTarget")}</a></div></div>;
  if (!bench) return <div class="page"><h1 class="hidden">{target}</h1><p class="pad"><Status tone="busy">{t("connecting", target)}</Status></p></div>;
  return <Connected bench={benches.value.find((b) => b.id === bench.id) ?? bench} target={target} via={via} onRetry={retry} />;
}

function useLists(bench: Bench, target: string): { lists: Lists; errors: Record<string, string>; reload: () => void } {
  const [lists, setLists] = useState<Lists>({});
  const [errors, setErrors] = useState<Record<string, string>>({});
  const load = (kind: keyof Lists, fresh = false) => get<{ items: Item[] }>(path("bench", bench.id, "list", kind) + (fresh ? "?fresh=1" : "")).then((a) => {
    setLists((l) => ({ ...l, [kind]: a.items }));
    if (kind !== "templates" && kind !== "skills") learn(target, kind, a.items.map((i) => String(i.name && kind !== "resources" ? i.name : i.uri)));
  }, (e) => setErrors((x) => ({ ...x, [kind]: errorText(e) })));
  const all = (fresh = false) => {
    const caps = bench.info.capabilities ?? {};
    if (caps.tools) void load("tools", fresh);
    if (caps.resources) { void load("resources", fresh); void load("templates", fresh); }
    if (caps.prompts) void load("prompts", fresh);
    if (caps.extensions?.[skillsExtension]) void load("skills", fresh);
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
  usePaneKeys();
  const { lists, errors, reload } = useLists(bench, target);
  const caps = bench.info.capabilities ?? {};
  const kind = (segments.value[2] ?? (caps.tools ? "tools" : caps.prompts ? "prompts" : caps.resources ? "resources" : "session")) as Kind;
  const name = segments.value[3];
  const link = (k: string, n?: string) => href(["bench", target, k, ...(n ? [n] : [])], { via: via ?? undefined });
  useEffect(() => { if (!name && kind !== "script") commandLine.value = command("inspect", target); }, [target, name, kind]);
  // A script calls the tools of every server, so it runs in a session of the whole gateway.
  const scripts = !!bench.target.server || bench.target.via === "gateway";
  const everything = href(["bench", "~" + (bench.target.schema || "default"), "script"]);
  useEffect(() => { if (kind === "script" && bench.target.server) go(everything, true); }, [kind, bench.id]);
  const close = async () => {
    try { await change("DELETE", path("bench", bench.id)); await refreshBenches(); } catch (e) { toast(errorText(e), undefined, "err"); }
    go("/ui/bench");
  };
  const items = kind === "tools" ? lists.tools : kind === "prompts" ? lists.prompts : kind === "resources" ? [...(lists.resources ?? []), ...(lists.templates ?? [])] : kind === "skills" ? lists.skills : undefined;
  const keyOf = (i: Item) => String(kind === "resources" ? i.uri ?? i.uriTemplate : kind === "skills" ? i.uri : i.name);
  const item = items?.find((i) => keyOf(i) === name);
  return <div class="bench-page">
    <BenchHead bench={bench} kind={kind} onReload={reload} onClose={() => void close()}
      kinds={[["tools", t("tools"), lists.tools?.length, !caps.tools], ["resources", t("resources"), lists.resources && lists.resources.length + (lists.templates?.length ?? 0), !caps.resources], ["prompts", t("prompts"), lists.prompts?.length, !caps.prompts], ["skills", t("skills"), lists.skills?.length, !caps.extensions?.[skillsExtension]], ["script", t("script"), undefined, !scripts], ["session", t("session"), undefined, false]]}
      onKind={(k) => go(k === "script" ? everything : link(k))} />
    {bench.down && <Notice tone="err">{said(bench.down, bench.downZH)} <button type="button" class="link" onClick={onRetry}>{t("reconnect")}</button></Notice>}
    <div class={"panes" + (name || kind === "session" || kind === "script" ? " has-item" : "")} style={paneStyle()}>
      <section class="pane list-pane" aria-label={t("features")}>
        {errors[kind] && <Notice tone="err">{errors[kind]}</Notice>}
        {items && kind !== "session" && <List key={kind} items={items} keyOf={keyOf} selected={name} onSelect={(n) => go(link(kind, n))} kind={kind} server={bench.target.server} />}
        {kind === "script" && <ScriptList schema={bench.target.schema || "default"} />}
        {kind === "session" && <p class="pad mut instructions">{bench.info.handshake?.instructions ?? t("noInstructions")}</p>}
      </section>
      <Gutter pane="list" label="resizeList" />
      {kind === "session" ? <SessionPane bench={bench} />
        : kind === "script" ? <ScriptPane key={bench.id} bench={bench} target={target} />
        : kind === "tools" && item ? <ToolPane key={bench.id + name} bench={bench} tool={item} target={target} tools={items!} />
          : kind === "prompts" && item ? <PromptPane key={bench.id + name} bench={bench} prompt={item} target={target} />
            : kind === "skills" && item ? <SkillPane key={bench.id + name} bench={bench} skill={item} target={target} />
            : kind === "resources" && (item || name) ? <ResourcePane key={bench.id + name} bench={bench} item={item ?? { uri: name }} target={target} resources={lists.resources ?? []} />
              : <section class="pane wide-pane"><p class="empty">{t(items && !items.length ? "nothingHere" : name && items ? "notListed" : "chooseItem", name ?? "")}</p></section>}
    </div>
  </div>;
}
