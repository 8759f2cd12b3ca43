// Adds a server by name, bundle, command or URL, or of scripts. It shows what will run before anything is downloaded.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { change, get, upload, type Listed, type Offer } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { t } from "../i18n/index.ts";
import { Empty, Notice, Panel, Tabs, chooseFile, errorText } from "../parts/basics.tsx";
import { EndpointFields, complete, emptyEndpoint, fieldsOf, type Endpoint } from "../parts/endpoint.tsx";
import { Head } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import type { Vault } from "../parts/rows.tsx";
import { query, setQuery } from "../router.ts";
import { may } from "../state.ts";
import { Offered } from "./add_offer.tsx";
import { NewScripts } from "./server_scripts.tsx";

const sources = ["registry", "bundle", "command", "url", "script"] as const;
type Source = (typeof sources)[number];

/** Found is an offer and the command line arguments that find it. */
export interface Found { offer: Offer; words: string[]; stranger: boolean }

export function AddPage() {
  const from = (sources.find((s) => s === query.value.get("from")) ?? "registry") as Source;
  const [found, setFound] = useState<Found>();
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const asked = useRef(0);
  const forget = () => { asked.current++; setBusy(false); setFound(undefined); setError(""); };
  /** look asks the gateway for an offer, after a wait; only the last request counts. Until its answer the offer that is shown is out of date. */
  const look = async (ask: () => Promise<Offer>, words: string[], stranger: boolean, wait = 0) => {
    const n = ++asked.current;
    setBusy(true);
    if (wait) await new Promise((r) => setTimeout(r, wait));
    if (n !== asked.current) return;
    try {
      const offer = await ask();
      if (n === asked.current) { setFound({ offer, words, stranger }); setError(""); }
    } catch (e) { if (n === asked.current) { setFound(undefined); setError(errorText(e)); } }
    if (n === asked.current) setBusy(false);
  };
  const word = (w: string, way?: string) => look(() => change<Offer>("POST", "add/look", { word: w, way: way ?? "" }), [w, ...(way ? ["--package", way] : [])], true);
  if (!may("admin")) return <div class="page"><Head title={t("addServer")} /><Empty>{t("needsAdmin")}</Empty></div>;
  const typed = from === "command" || from === "url";
  const tabs = <Tabs name="from" label={t("addFrom")} selected={from} onSelect={(id) => { forget(); setQuery({ from: id === "registry" ? undefined : id }); }} tabs={sources.map((id) => ({ id, label: t(`add_${id}`) }))} />;
  return <div class="page add-page">
    <Head title={<><a href="/ui/servers">{t("servers")}</a> / {t("addServer")}</>}><a class="button" href="/ui/servers/import"><Icon name="upload" />{t("import")}</a></Head>
    <div class="scroll"><div class="cols add-cols">
      {from === "script" ? <section class="card c7 add-from" aria-label={t("addFrom")}>{tabs}<Panel name="from" selected={from}><NewScripts /></Panel></section>
        : <Offered key={found?.stranger ? found.offer.id : from} found={found} stale={busy} typed={typed} onAgain={forget} onWay={(way) => void word(found!.words[0]!, way)}>{tabs}
          <Panel name="from" selected={from}>
            {from === "registry" && !found && <Registry onPick={(w) => void word(w)} />}
            {from === "bundle" && !found && <Bundle busy={busy} onWord={(w) => void word(w)} onFile={(f) => void look(() => upload<Offer>("add/bundle?name=" + encodeURIComponent(f.name), f), [f.name], true)} />}
            {typed && <Typed key={from} kind={from} last={found?.offer.id} onForget={forget} onLook={look} />}
            {busy && !typed && <p class="mut" role="status">{t("connectingShort")}</p>}
            {error && <Notice tone="err">{error}</Notice>}
          </Panel>
        </Offered>}
    </div></div>
  </div>;
}

/** Registry searches while the user types; a full name can be opened directly. */
function Registry({ onPick }: { onPick: (word: string) => void }) {
  const text = query.value.get("q") ?? "";
  const [state, setState] = useState<{ word: string; found: Listed[]; problems: string[] }>();
  const [error, setError] = useState("");
  const word = text.trim(), whole = /^[a-zA-Z0-9-]*\.[a-zA-Z0-9.-]*\/[a-zA-Z0-9._-]+(@\S+)?$/.test(word);
  useEffect(() => {
    commandLine.value = command("search", word || "WORD");
    if (word.length < 3) { setState(undefined); setError(""); return; }
    let live = true;
    const timer = setTimeout(() => {
      get<{ found: Listed[]; problems: string[] }>("add/search?q=" + encodeURIComponent(word.split("@")[0]!)).then(
        (r) => { if (live) { setState({ word, ...r }); setError(""); } }, (e) => { if (live) { setState(undefined); setError(errorText(e)); } });
    }, 300);
    return () => { live = false; clearTimeout(timer); };
  }, [word]);
  return <form onSubmit={(e) => { e.preventDefault(); if (whole) onPick(word); }}>
    <p class="mut">{t("addSearchText")}</p>
    <div class="row add-search"><label class="with-icon grow"><Icon name="search" /><input id="add-search" type="search" value={text} placeholder={t("addSearchHint")} aria-label={t("addSearch")} spellcheck={false} autocomplete="off" onInput={(e) => setQuery({ q: e.currentTarget.value })} /></label>
      {whole && <button type="submit" class="button">{t("addLook")}</button>}</div>
    {word.length > 0 && word.length < 3 && <p class="mut">{t("addSearchShort")}</p>}
    {error && <Notice tone="err">{error}</Notice>}
    {state?.problems.map((p) => <Notice key={p} tone="warn">{p}</Notice>)}
    {state && !state.found.length && !state.problems.length && <Empty><b>{t("addNoneFound", state.word)}</b></Empty>}
    {state && state.found.length > 0 && <ul class="add-list" aria-label={t("addSearch")}>{state.found.map((f) => <li key={f.name}>
      <button type="button" onClick={() => onPick(f.name)} data-testid={"found-" + f.name}>
        <span class="row"><b class="cut">{f.name}</b><span class="mut num">{f.version}</span><span class="end row">{f.looksLike && <span class="tag warn">{t("addLooksLike", f.looksLike)}</span>}{f.installed && <span class="tag ok">{t("addHereAs", f.installed)}</span>}{f.status && f.status !== "active" && <span class="tag warn">{f.status}</span>}</span></span>
        <span class="mut said">{f.description}</span>
        <span class="row">{(f.kinds ?? []).map((k) => <span key={k} class="tag line">{k}</span>)}<span class="mut end">{f.registry}</span></span>
      </button></li>)}</ul>}
  </form>;
}

/** Bundle takes a file of this computer, or a path or address that the gateway reads. */
function Bundle({ busy, onWord, onFile }: { busy: boolean; onWord: (word: string) => void; onFile: (file: File) => void }) {
  const [text, setText] = useState("");
  useEffect(() => { commandLine.value = command("add", text.trim() || "FILE.mcpb"); }, [text]);
  return <form onSubmit={(e) => { e.preventDefault(); if (text.trim()) onWord(text.trim()); }}
    onDragOver={(e) => e.preventDefault()} onDrop={(e) => { e.preventDefault(); const f = e.dataTransfer?.files[0]; if (f) onFile(f); }}>
    <p class="mut">{t("addBundleText")}</p>
    <div class="field"><label for="add-bundle">{t("addBundleLabel")}</label>
      <div class="row"><input id="add-bundle" class="mono grow" value={text} placeholder="https://example.com/server.mcpb" spellcheck={false} autocomplete="off" onInput={(e) => setText(e.currentTarget.value)} />
        <button type="submit" class="button" disabled={busy || !text.trim()}>{t("addLook")}</button></div></div>
    <button type="button" class="button" disabled={busy} onClick={() => void chooseFile(".mcpb,.dxt").then(onFile)}><Icon name="upload" />{t("chooseFile")}</button>
  </form>;
}

const secretName = /key|token|secret|pass|auth|credential/i;

/** Typed takes a command or a URL from the user. */
function Typed({ kind, last, onForget, onLook }: { kind: "command" | "url"; last?: string; onForget: () => void; onLook: (ask: () => Promise<Offer>, words: string[], stranger: boolean, wait: number) => Promise<void> }) {
  const [name, setName] = useState("");
  const [end, setEnd] = useState<Endpoint>({ ...emptyEndpoint, kind: kind === "command" ? "stdio" : "http" });
  const [flipped, setFlipped] = useState<ReadonlySet<string>>(new Set());
  const vault: Vault = {
    has: (n) => secretName.test(n) !== flipped.has(n),
    flip: (n) => { const next = new Set(flipped); if (!next.delete(n)) next.add(n); setFlipped(next); },
  };
  // Before the next paint, so that what was typed is never added as it was before.
  useLayoutEffect(() => {
    const f = fieldsOf(end) as { command?: string; args?: string[]; url?: string };
    const words = [name || "NAME", ...(kind === "url" ? [f.url || "URL"] : ["--", f.command || "COMMAND", ...(f.args ?? [])])];
    commandLine.value = command("add", ...words);
    if (!name || !complete(end)) { onForget(); return; }
    const names = [...end.env, ...end.headers].map(([k]) => k).filter((k) => k && vault.has(k));
    void onLook(() => change<Offer>("POST", "add/look", { name, entry: fieldsOf(end), secret: names, instead: last ?? "" }), words, false, 250);
  }, [name, end, flipped]);
  return <>
    <div class="field"><label for="s-name">{t("name")} <span class="err">*</span></label><input id="s-name" class="mono" value={name} spellcheck={false} autocomplete="off" onInput={(e) => setName(e.currentTarget.value.trim())} /></div>
    <EndpointFields id="s" value={end} onChange={setEnd} kinds={kind === "command" ? ["stdio"] : ["http", "sse"]} vault={vault} />
  </>;
}
