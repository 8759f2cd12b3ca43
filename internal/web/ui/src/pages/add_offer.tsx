// An offer: its questions, exactly what will run, and the outcome.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { change, path, type AddQuestion, type Shown, type Started } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { kind } from "../form/scalar.tsx";
import { t } from "../i18n/index.ts";
import { refresh } from "../live.ts";
import { Notice, Status, errorText } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { Switch } from "../parts/switch.tsx";
import { href } from "../router.ts";
import type { Found } from "./add.tsx";

const keyOf = (q: AddQuestion) => q.kind + " " + q.id;

/** answersOf returns the answers by kind and id; empty texts are left out. */
function answersOf(questions: AddQuestion[], texts: Record<string, string>): Record<string, Record<string, string[]>> {
  const out: Record<string, Record<string, string[]>> = {};
  for (const q of questions) {
    const list = (q.repeated ? (texts[keyOf(q)] ?? "").split("\n") : [texts[keyOf(q)] ?? ""]).map((x) => x.trim()).filter(Boolean);
    if (list.length) (out[q.kind] ??= {})[q.id] = list;
  }
  return out;
}

/** flags returns the answers as command line flags, without secrets: the command asks for those. */
function flags(questions: AddQuestion[], answers: ReturnType<typeof answersOf>): string[] {
  return questions.filter((q) => !q.secret && answers[q.kind]?.[q.id]?.join("\n") !== (q.default || undefined)).flatMap((q) => (answers[q.kind]?.[q.id] ?? [])
    .flatMap((v) => q.kind === "header" ? ["--header", `${q.id}: ${v}`] : ["--" + q.kind, `${q.id}=${v}`]));
}

/** Offered shows two cards: the origin of the server with its questions, and what will run. */
export function Offered({ found, stale, typed, children, onAgain, onWay }: { found?: Found; stale: boolean; typed: boolean; children: ComponentChildren; onAgain: () => void; onWay: (way: string) => void }) {
  const offer = found?.offer, questions = offer?.questions ?? [];
  const [texts, setTexts] = useState<Record<string, string>>(() => Object.fromEntries(questions.map((q) => [keyOf(q), q.default ?? ""])));
  const [name, setName] = useState(offer?.name ?? "");
  const [schema, setSchema] = useState("default");
  const [confined, setConfined] = useState(!typed);
  const [read, setRead] = useState<ReadonlySet<string>>(new Set());
  const [shown, setShown] = useState<Shown>();
  const [error, setError] = useState("");
  const [started, setStarted] = useState<Started>();
  const [busy, setBusy] = useState(false);
  const fresh = useRef("");
  const answers = answersOf(questions, texts), local = typed ? offer?.name ?? "" : name;
  const state = JSON.stringify([offer?.id, local, schema, confined, answers]);
  useEffect(() => {
    if (!offer) { setShown(undefined); return; }
    if (found.stranger) commandLine.value = command("add", ...found.words, ...(local && local !== offer.name ? ["--name", local] : []), ...(schema !== "default" ? ["--schema", schema] : []), ...(confined || offer.unconfinable ? [] : ["--no-sandbox"]), ...flags(questions, answers));
    let live = true;
    const timer = setTimeout(() => {
      change<Shown>("POST", path("add", offer.id, "show"), { schema, name: local, answers, confined }).then(
        (s) => { if (live) { fresh.current = state; setShown(s); setError(""); } }, (e) => { if (live) { setShown(undefined); setError(errorText(e)); } });
    }, shown ? 200 : 0);
    return () => { live = false; clearTimeout(timer); };
  }, [state]);
  const add = async () => {
    setBusy(true);
    setError("");
    try {
      setStarted(await change<Started>("POST", path("add", offer!.id, "install"), { hash: shown!.hash }));
      void refresh();
    } catch (e) { setError(errorText(e)); }
    setBusy(false);
  };
  if (started) return <Outcome s={started} onAgain={() => { setStarted(undefined); onAgain(); }} />;
  const alarms = offer?.alarms ?? [], ready = !!shown && !stale && fresh.current === state && !shown.missing?.length && alarms.every((a) => read.has(a)) && !busy;
  const runsHere = shown?.rows.some((r) => r.kind === "runs") !== false;
  return <>
    <section class="card c7 add-from" aria-label={t("addFrom")}>{children}
      {offer && <form id="add-form" onSubmit={(e) => { e.preventDefault(); if (ready) void add(); }}>
        {!typed && <div class="row"><b class="grow">{offer.head}</b><button type="button" class="link" onClick={onAgain}>{t("addChoose")}</button></div>}
        {questions.length > 0 && <fieldset class="add-questions"><legend>{t("addQuestions")}</legend>{questions.map((q) => <Question key={keyOf(q)} q={q} text={texts[keyOf(q)] ?? ""} missing={!!shown?.missing?.includes(q.id)} onChange={(v) => setTexts({ ...texts, [keyOf(q)]: v })} />)}</fieldset>}
        {offer.ways && offer.ways.length > 1 && <div class="field"><label for="add-way">{t("addWay")}</label><select id="add-way" value={offer.way} onChange={(e) => onWay(e.currentTarget.value)}>{offer.ways.map((w) => <option key={w}>{w}</option>)}</select></div>}
        <div class="two">
          {!typed && <div class="field"><label for="add-name">{t("name")}</label><input id="add-name" class="mono" value={name} spellcheck={false} onInput={(e) => setName(e.currentTarget.value.trim())} /></div>}
          <div class="field"><label for="add-schema">{t("schema")}</label><input id="add-schema" class="mono" value={schema} spellcheck={false} onInput={(e) => setSchema(e.currentTarget.value.trim())} /></div>
        </div>
        {runsHere && <div class="row add-confine"><Switch id="add-sandbox" on={confined && !offer.unconfinable} disabled={!!offer.unconfinable} label={t("addSandbox")} onChange={setConfined} /><label for="add-sandbox" class="lines">{t("addSandbox")}<small>{offer.unconfinable || t("addSandboxText")}</small></label></div>}
      </form>}
    </section>
    <section class="card c5 add-offer" aria-labelledby="h-will-run" data-testid="will-run">
      <h2 id="h-will-run">{t("addWillRun")}</h2>
      {!offer && <p class="mut">{t("addWillRunEmpty")}</p>}
      {error && <Notice tone="err">{error}</Notice>}
      {shown && <><dl class="add-rows" data-testid="will-run-rows">{shown.rows.map((r, i) => <div key={i} class={r.kind === "!" ? "warn" : ""}><dt>{r.kind === "!" ? <Icon name="alert" /> : r.label}</dt><dd>{["runs", "asks", "gets", "in", "sha256"].includes(r.kind) ? <code>{r.text}</code> : r.text}</dd></div>)}</dl>
        <details><summary>{t("entry")}</summary><pre class="code text" tabIndex={0} role="group" aria-label={t("entry")} data-testid="will-run-entry">{shown.entry}</pre></details></>}
      {alarms.map((a) => <label key={a} class="row add-alarm"><input type="checkbox" checked={read.has(a)} onChange={() => { const next = new Set(read); if (!next.delete(a)) next.add(a); setRead(next); }} />{t("addAlarm", a)}</label>)}
      {offer && (busy ? <Notice tone="info"><Status tone="busy">{t("addStarting", local)}</Status><br /><span class="mut">{t("addStartingText")}</span></Notice>
        : <div class="row"><button type="submit" form="add-form" class="button primary" disabled={!ready} data-testid="add-go">{t("addGo")}</button><span class="mut" role="status">{shown?.missing?.length ? t("addMissing", shown.missing.join(", ")) : t("addWillRunText")}</span></div>)}
    </section>
  </>;
}

/** Question is one field; a secret is masked and never sent back. */
function Question({ q, text, missing, onChange }: { q: AddQuestion; text: string; missing: boolean; onChange: (v: string) => void }) {
  const id = "add-q-" + q.id, hints = [q.description, q.secret && t("addSecretHint"), q.repeated && t("addLines"), (q.format === "filepath" || q.format === "directory") && t("addPathHint")].filter(Boolean).map((h, i, all) => i + 1 < all.length ? String(h).replace(/[.。]$/, "") : h);
  const common = { id, "aria-describedby": hints.length ? id + "-d" : undefined, required: q.required };
  const choices = q.choices ?? (q.format === "boolean" ? ["true", "false"] : undefined);
  return <div class="field"><label for={id}><code>{q.id}</code> {q.required && <span class={missing ? "err" : "mut"}>*</span>}</label>
    {choices ? <select {...common} value={text} onChange={(e) => onChange(e.currentTarget.value)}>{!choices.includes(text) && <option value="" />}{choices.map((c) => <option key={c}>{c}</option>)}</select>
      : q.repeated && !q.secret ? <textarea {...common} class="mono" rows={2} value={text} spellcheck={false} onInput={(e) => onChange(e.currentTarget.value)} />
        : <input {...common} {...kind(q.secret ? "password" : "text")} class="mono" autocomplete={q.secret ? "new-password" : "off"} value={text} placeholder={q.placeholder} spellcheck={false} onInput={(e) => onChange(e.currentTarget.value)} />}
    {hints.length > 0 && <p class="mut" id={id + "-d"}>{hints.join(" · ")}</p>}
  </div>;
}

function Outcome({ s, onAgain }: { s: Started; onAgain: () => void }) {
  const off = !!s.reason;
  const words = off ? t("addedOff", s.name) : s.state === "up" ? t("addedUp", s.name, t("anyNumber", s.tools)) : s.state === "auth" ? t("addedAuth", s.name) : t("addedWaits", s.name);
  useEffect(() => { commandLine.value = command(off ? "enable" : "status", ...(off ? [s.name] : [])); }, []);
  return <section class="card c7 add-offer" aria-labelledby="h-added" data-testid="added">
    <h2 id="h-added"><Status tone={off ? "err" : s.state === "up" ? "ok" : "warn"} state={s.state}>{words}</Status></h2>
    {off && <Notice tone="err">{s.reason}</Notice>}
    {off && s.stderr && <pre class="code text" tabIndex={0} role="group" aria-label={t("log")}>{s.stderr.join("\n")}</pre>}
    {s.notes && <Notice tone="warn"><b>{t("addedNotes")}</b><ul>{s.notes.map((n) => <li key={n}>{n}</li>)}</ul></Notice>}
    <div class="row"><a class="button primary" href={href(["servers", s.schema, s.name])}>{t("openServer")}</a>{s.state === "up" && <a class="button" href={href(["bench", s.name])}>{t("openInBench")}</a>}<button type="button" class="button quiet" onClick={onAgain}>{t("addAnother")}</button></div>
  </section>;
}
