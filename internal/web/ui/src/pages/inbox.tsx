import { useEffect, useMemo, useState } from "preact/hooks";
import { RawBody, at, change, get, path, type Call, type Done, type Question, type Run, type Server, type ServerDetail, type Slice } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { compile } from "../form/compile.ts";
import { initialDraft, read, type Draft } from "../form/draft.ts";
import { FormView } from "../form/form.tsx";
import { age, ago, hm, lasting, ns } from "../format.ts";
import { t } from "../i18n/index.ts";
import { stringify } from "../json/exact.ts";
import { JsonView } from "../json/view.tsx";
import { approvals, inbox, loaded, replicas } from "../live.ts";
import { noteKind, noteText } from "../note.ts";
import { Head, Skeleton } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { Segments } from "../parts/switch.tsx";
import { go, href, query, segments } from "../router.ts";
import { ReplicaFilter, Silent, chosenReplica, isSelf } from "./replicas.tsx";
import { Change } from "./server_history.tsx";
import { approve, remove } from "./servers.tsx";
import { Blocks } from "../parts/content.tsx";
import { Empty, Notice, Status, errorText, now, toast, useLoad, type Tone } from "../parts/basics.tsx";
import { judge, useProblems } from "../form/validate.ts";
import { may, phone } from "../state.ts";

export function InboxPage() {
  useEffect(() => { commandLine.value = command("inbox"); }, []);
  const chosen = segments.value.slice(1).join("/");
  const replica = chosenReplica(), shown = (x: { replica?: string }) => !replica || x.replica === replica;
  const list: Waiting[] = [...inbox.value.filter(shown).map((q) => ({ id: q.id, q })), ...approvals.value.filter(shown).map((s) => ({ id: s.schema + "/" + s.name, s }))];
  // A link to a closed question must not show another question in its place.
  const open = list.find((x) => x.id === chosen) ?? (phone.value || chosen ? undefined : list[0]);
  const { value: ended = [] } = useLoad(() => get<Done[]>("inbox/done?replica=*"), [inbox.value]);
  const done = ended.filter(shown);
  const past = query.value.get("tab") === "done", unanswered = done.filter((d) => d.outcome === "late" || d.outcome === "ended").slice(0, 5);
  const over = done.find((d) => d.id === chosen) ?? (past && !phone.value && !chosen ? done[0] : undefined);
  const group = (title: string, part: Waiting[]) => part.length > 0 && <><li class="h3">{title}</li>{part.map((x) => <li key={x.id}><Summary x={x} on={x.id === open?.id} /></li>)}</>;
  return <div class={"page inbox-page" + (open && !past || over ? " with-open" : "")}><Head title={t("inbox")} what={loaded.value && (list.length ? t("waitingForYou", list.length) : t("inboxText"))}>
      <ReplicaFilter all />
      <Segments label={t("inbox")} value={past ? "done" : "waiting"} choices={[["waiting", t("inboxWaiting")], ["done", t("inboxDone")]]} onChange={(v) => go(href(["inbox"], { tab: v === "done" ? v : undefined, replica }))} /></Head>
    <Silent list={replicas.value} />
    {loaded.value && chosen && !open && !over && <Notice tone="info">{t("questionOver")}</Notice>}
    {!loaded.value ? <div class="scroll"><Skeleton cards={["c12"]} /></div>
      : past && !done.length ? <Empty><Icon name="inbox" /><b>{t("inboxNoneDone")}</b><span>{t("inboxDoneHint")}</span></Empty>
      : !past && !list.length && !unanswered.length && !over ? <Empty><Icon name="inbox" /><b>{t("inboxEmpty")}</b><span>{t("inboxHint")}</span></Empty>
      : <div class="ibx"><ul class="plain ibl" aria-label={t("inbox")}>{past ? done.map((d) => <li key={d.id} data-testid="done"><Past d={d} on={d === over} tab="done" /></li>)
          : <>{group(t("callsWaiting"), list.filter((x) => x.q))}{group(t("reviewWhen"), list.filter((x) => x.s))}
            {unanswered.length > 0 && <li class="h3">{t("endedQuestions")}</li>}{unanswered.map((d) => <li key={d.id} data-testid="ended"><Past d={d} on={d === over} /></li>)}</>}</ul>
        <div class="ibd">{over ? <><a class="m-only link" href={href(["inbox"], { tab: past ? "done" : undefined })}>‹ {t("inbox")}</a><Over key={over.id} d={over} /></>
          : open && !past && <><a class="m-only link" href="/ui/inbox">‹ {t("inbox")}</a>{open.q ? <><Item key={open.q.id} q={open.q} /><Caused key={"c" + open.q.id} q={open.q} done={done} /></> : <PendingServer key={open.id} s={open.s!} />}</>}</div></div>}
  </div>;
}

/** placeOf is the replica where a question waits, if there are several. */
const placeOf = (q: Question) => (q.replica ? `${t("replica")} ${q.replica}` : "");
const clientOf = (q: Question) => (q.client === "bench" ? t("forBench") : q.client ? t("forClient", q.client) : "");
const outcomeTones: Record<Done["outcome"], Tone> = { accept: "ok", decline: "idle", cancel: "idle", late: "warn", ended: "idle" };
/** permits reports whether a yes to the question permits something, rather than tells something. */
const permits = (q: Question) => q.kind === "approval" || q.kind === "host" || q.kind === "share";
/** outcomeOf says how a question ended; a call is allowed or denied, not answered. */
const outcomeOf = (d: Done) => t(permits(d) ? d.outcome === "accept" ? "outcome_allowed" : d.outcome === "decline" ? "outcome_denied" : `outcome_${d.outcome}` : `outcome_${d.outcome}`);

/** Past is the row of a question that no longer waits. */
function Past({ d, on, tab }: { d: Done; on: boolean; tab?: string }) {
  return <a href={href(["inbox", d.id], { tab })} aria-current={on ? "true" : undefined}><Icon name="clock" /><span class="cut"><b>{d.server}</b> {d.tool}</span><span class="mut num">{hm(Date.parse(d.ended))}</span>
    <small class="cut">{[outcomeOf(d), placeOf(d), clientOf(d), d.params?.message].filter(Boolean).join(" · ")}</small></a>;
}

/** Over shows a question that no longer waits, and how it ended. */
function Over({ d }: { d: Done }) {
  return <article class="card question" aria-label={`${t(`kind_${d.kind}`)} ${d.server ?? ""}`} data-testid="over">
    <header class="bar"><Status tone={outcomeTones[d.outcome]}><b>{outcomeOf(d)}</b></Status> <b>{d.server}{d.tool ? "." + d.tool : ""}</b></header>
    <p class="mut">{[t(`kind_${d.kind}`), placeOf(d), clientOf(d), `${hm(Date.parse(d.asked), true)} – ${hm(Date.parse(d.ended), true)}`, d.by ? t("answeredBy", d.by) : ""].filter(Boolean).join(" · ")}</p>
    {d.params?.message && d.kind === "elicitation" && <p class="message">{d.params.message}</p>}
    {d.params && d.kind !== "elicitation" && <div class="json-box"><JsonView fit text={JSON.stringify(d.params)} label={t("arguments")} /></div>}
  </article>;
}

interface Step { at: string; kind: string; text: string }
interface Story { call?: string; steps: Step[] }

/** storyOf returns the call that waits for the answer to a question of its server, and what happened since it began, if that is known. An approval shows its call itself. */
async function storyOf(q: Question): Promise<Story> {
  if (q.kind !== "elicitation" && q.kind !== "sampling") return { steps: [] };
  const begun = (at: string, client?: string, name?: string): Step => ({ at, kind: t("call"), text: [client === "bench" ? t("bench") : client, name].filter(Boolean).join(" → ") });
  const asked: Step = { at: q.asked, kind: t("asksStep"), text: Object.keys(q.params?.requestedSchema?.properties ?? {}).join(", ") || t(`kind_${q.kind}`) };
  if (q.run) { const run = await get<Run>(at(path("runs", q.run), q.replica)); return { call: JSON.stringify(run.params), steps: [begun(run.start, q.client ?? "bench", run.name), asked] }; }
  const { calls } = await get<{ calls: Call[] }>(at("traffic?limit=2&q=" + encodeURIComponent(`status:pending hop:server server:${q.server}`), q.replica));
  if (calls.length !== 1) return { steps: [] };
  const id = calls[0]!.id, req = (id: number) => get<Slice>(at(path("traffic", id, "body") + "?side=req", q.replica));
  const [body, { related }] = await Promise.all([req(id), get<{ related: Call[] }>(at(path("traffic", id), q.replica))]);
  const notes = await Promise.all(related.filter((c) => c.kind === "notification" && c.hop === "server" && c.fromServer).slice(-20).map(async (c): Promise<Step> => {
    const params = await req(c.id).then((s) => JSON.parse(s.text)).then((p) => p.params ?? p).catch(() => undefined);
    return { at: c.start, kind: noteKind(c.method, params), text: noteText(c.method, params) };
  }));
  return { call: body.whole ? body.text : undefined, steps: [begun(calls[0]!.start, related.find((c) => c.client)?.client, calls[0]!.name), ...notes, asked] };
}

/** Caused shows the call behind a question, what happened so far, and how a question like it ended last time. */
function Caused({ q, done }: { q: Question; done: Done[] }) {
  const { value } = useLoad(() => storyOf(q), [q.id]);
  const last = done.find((d) => d.id !== q.id && d.kind === q.kind && d.server === q.server && d.tool === q.tool && d.by);
  return <>
    {value?.call && <section class="caused" data-testid="caused"><h2>{t("waitingCall")}</h2><div class="json-box"><JsonView fit text={value.call} label={t("waitingCall")} /></div></section>}
    {value && value.steps.length > 0 && <section class="caused" data-testid="so-far"><h2>{t("soFar")}</h2><ol class="plain log">{value.steps.map((s, i) => <li key={i}><time>{i ? "+" + ns(Math.max(0, Date.parse(s.at) - Date.parse(value.steps[0]!.at)) * 1e6) : hm(Date.parse(s.at), true)}</time><span class="level">{s.kind}</span><span class="cut" title={s.text}>{s.text}</span></li>)}</ol></section>}
    {last && <p class="caused row last-time" data-testid="last-time"><span class="mut">{t("lastTime")}</span><Status tone={outcomeTones[last.outcome]}><a class="plain-link" href={href(["inbox", last.id], { tab: "done" })}>{outcomeOf(last)}, {ago(last.ended, now.value)}</a></Status><span class="mut">{t("answeredBy", last.by!)}</span></p>}
  </>;
}

interface Waiting { id: string; q?: Question; s?: Server }

/** Summary is one row: what waits, from whom, and since when. */
function Summary({ x: { id, q, s }, on }: { x: Waiting; on: boolean }) {
  const icon = s ? s.state === "pending" ? "plug" : "edit" : permits(q!) ? "shield" : q!.kind === "sampling" ? "bench" : "chat";
  return <a href={href(["inbox", ...id.split("/")])} aria-current={on ? "true" : undefined}><Icon name={icon} /><span class="cut"><b>{s?.name ?? q!.server}</b> {s ? s.state === "pending" ? t("isNewServer") : t("changedTools", s.pending?.length ?? 0) : q!.kind === "host" ? t("wantedHost", q!.params?.host ?? "") : t(q!.kind === "share" ? "wantsAccess" : q!.kind === "approval" ? "wantsRun" : q!.kind === "sampling" ? "wantsModel" : "asksYou")}</span>
    <span class="mut num">{q ? age(q.asked, now.value) : ""}</span><small class="cut">{q ? [placeOf(q), q.tool, clientOf(q), q.params?.message].filter(Boolean).join(" · ") : s!.state === "pending" ? t("newServer") : s!.pending!.join(", ")}</small></a>;
}

/** PendingServer is a server that waits for approval, or whose tools have changed. */
function PendingServer({ s }: { s: Server }) {
  const { value: d, reload } = useLoad(() => get<ServerDetail>(path("servers", s.schema, s.name)), [s.schema, s.name, JSON.stringify(s)]);
  const fresh = s.state === "pending" || !!d?.approval?.entry; // an entry, not definitions
  return <article class="card question" aria-label={`${t("kind_approval")} ${s.name}`} data-testid={"approval-" + s.name}>
    <header class="bar"><Status tone="warn"><b>{t("kind_approval")}</b></Status> <b>{s.name}</b><span class="mut">{t(fresh ? "newServer" : "changedTools", s.pending?.length ?? 0)}</span></header>
    {d?.approval?.entry ? <pre class="code text" tabIndex={0} role="group" aria-label={t("entry")}>{d.approval.entry}</pre>
      : fresh ? d?.entry && <div class="json-box"><JsonView fit text={JSON.stringify(d.entry)} label={t("entry")} /></div>
      : d?.changes?.map((c) => <Change key={c.kind + c.name + (c.user ?? "")} c={c} />)}
    <div class="bar"><button type="button" class="button primary" disabled={!may("admin") || !d?.approval} onClick={() => d && void approve(d, reload)}>{t("approve")}</button>
      <a class="button" href={href(["servers", s.schema, s.name], { tab: fresh ? "config" : "history" })}>{t("review")}</a>
      {fresh && <button type="button" class="button danger" disabled={!may("admin")} onClick={() => void remove(s)}>{t("remove")}</button>}</div>
  </article>;
}

async function answer(q: Question, action: "accept" | "decline" | "cancel", content?: string, script = false): Promise<void> {
  try {
    await change("POST", at(path("inbox", q.id), q.replica), new RawBody(`{"action":"${action}"${content === undefined ? "" : `,"content":${content}`}${script ? `,"for":"script"` : ""}}`));
  } catch (e) { toast(errorText(e), undefined, "err"); }
}

export function Item({ q }: { q: Question }) {
  const left = q.deadline ? Math.max(0, Math.round((Date.parse(q.deadline) - now.value) / 1000)) : undefined;
  const whole = q.deadline ? Math.max(1, (Date.parse(q.deadline) - Date.parse(q.asked)) / 1000) : 1;
  const facts = [placeOf(q), clientOf(q), t("waiting", age(q.asked, now.value))].filter(Boolean).join(" · ");
  return <article class="card question" aria-label={`${t(`kind_${q.kind}`)} ${q.server ?? ""}`} data-testid={"question-" + q.kind}>
    {left !== undefined && <progress class="deadline" max={1} value={Math.min(1, left / whole)} aria-hidden="true" />}
    <header class="bar"><Status tone="warn"><b>{t(`kind_${q.kind}`)}</b></Status> <b>{q.server}{q.tool ? "." + q.tool : ""}</b>{left !== undefined && <span class="tag end num">{t("timeLeft", lasting(left))}</span>}</header>
    <div class="row facts-row"><span class="mut">{facts}</span>{q.tool && <a href={href(["traffic"], { q: `status:pending server:${q.server}`, replica: isSelf(q.replica) ? undefined : q.replica })}>{t("showCall")}</a>}</div>
    {q.kind === "elicitation" ? <Elicitation q={q} /> : q.kind === "sampling" ? <Sampling q={q} /> : q.kind === "host" ? <Host q={q} /> : q.kind === "share" ? <Share q={q} /> : <Approval q={q} />}
  </article>;
}

function Buttons({ q, ready, accept, label }: { q: Question; ready: boolean; accept: () => void; label: string }) {
  return <div class="bar">
    <button type="button" class="button primary" disabled={!ready || !may("call")} onClick={accept}>{label}</button>
    <button type="button" class="button" disabled={!may("call")} onClick={() => void answer(q, "decline")}>{t(permits(q) ? "deny" : "decline")}</button>
    {q.kind !== "approval" && q.kind !== "share" && <button type="button" class="button" disabled={!may("call")} onClick={() => void answer(q, "cancel")}>{t("cancel")}</button>}
  </div>;
}

function Elicitation({ q }: { q: Question }) {
  const schema = q.params?.requestedSchema;
  const form = useMemo(() => compile(schema ?? { type: "object" }), [q.id]);
  const [draft, setDraft] = useState<Draft>(() => initialDraft(form, true));
  const [tried, setTried] = useState(false);
  const r = read(form, form.root, draft);
  const json = stringify(r.value ?? {});
  const problems = useProblems(schema ? JSON.stringify(schema) : "", json);
  const send = async () => {
    if (!tried && schema && !await judge(JSON.stringify(schema), json)) setTried(true);
    else await answer(q, "accept", json);
  };
  if (q.params?.mode === "url") return <>
    <p>{q.params.message}</p><Notice tone="warn">{t("urlWarning", q.server ?? "")}</Notice>
    <p><a href={q.params.url} target="_blank" rel="noopener noreferrer"><code>{q.params.url}</code></a></p>
    <Buttons q={q} ready accept={() => void answer(q, "accept")} label={t("done")} /></>;
  return <>
    <p class="message">{q.params?.message}</p>
    <Notice tone="info">{t("trustWarning", q.server ?? "")}</Notice>
    <FormView form={form} draft={draft} onChange={setDraft} problems={problems} troubles={r.troubles} id={"q" + q.id} tried={tried} />
    <Buttons q={q} ready={!r.troubles.length} accept={() => void send()} label={t(problems.length && tried ? "sendAnyway" : "answer")} /></>;
}

function Sampling({ q }: { q: Question }) {
  const [text, setText] = useState("");
  const [model, setModel] = useState("human");
  const [stop, setStop] = useState("endTurn");
  const p = q.params ?? {};
  const reply = () => JSON.stringify({ role: "assistant", content: { type: "text", text }, model, stopReason: stop });
  return <>
    {p.systemPrompt && <section class="msg system"><p class="role">{t("systemPrompt")}</p><p>{p.systemPrompt}</p></section>}
    {(p.messages ?? []).map((m: any, i: number) => <section class={"msg " + m.role} key={i}><p class="role">{m.role}</p><Blocks content={Array.isArray(m.content) ? m.content : [m.content]} /></section>)}
    <p class="mut">{t("maxTokens")} {p.maxTokens ?? "–"}{p.temperature !== undefined ? ` · ${t("temperature")} ${p.temperature}` : ""}{p.includeContext ? ` · ${p.includeContext}` : ""}
      {p.modelPreferences?.hints?.length ? " · " + p.modelPreferences.hints.map((h: any) => h.name).join(", ") : ""}</p>
    <div class="field"><label for={"r" + q.id}>{t("reply")}</label><textarea id={"r" + q.id} rows={4} value={text} onInput={(e) => setText(e.currentTarget.value)} /></div>
    <div class="two"><div class="field"><label for={"m" + q.id}>{t("model")}</label><input id={"m" + q.id} value={model} onInput={(e) => setModel(e.currentTarget.value)} /></div>
      <div class="field"><label for={"s" + q.id}>{t("stopReason")}</label><select id={"s" + q.id} value={stop} onChange={(e) => setStop(e.currentTarget.value)}>{["endTurn", "stopSequence", "maxTokens"].map((s) => <option key={s}>{s}</option>)}</select></div></div>
    <Buttons q={q} ready={!!text} accept={() => void answer(q, "accept", reply())} label={t("send")} /></>;
}

/** Host is a host that a sandbox refused. */
function Host({ q }: { q: Question }) {
  return <><p class="message">{t("hostRefused", q.server ?? "")} <code>{q.params?.host}</code></p>
    <Notice tone="info">{t("hostAllow")}</Notice>{q.params?.failed && <Notice tone="err">{q.params.failed}</Notice>}
    <Buttons q={q} ready accept={() => void answer(q, "accept")} label={t("allowAlways")} /></>;
}

/** Share is a client that wants access. The code is on the page in its browser. */
function Share({ q }: { q: Question }) {
  const [code, setCode] = useState("");
  const p = q.params ?? {}, digits = code.replace(/\s/g, "");
  return <><p class="message">{t(p.write ? "shareAll" : "shareReadOnly", p.schema, p.days)}</p>
    <p class="mut">{[p.name && t("callsItself", p.name), p.id].filter(Boolean).join(" · ")}</p>
    <Notice tone="warn">{t("shareWarning", q.server ?? "")}</Notice>
    <div class="field"><label for={"c" + q.id}>{t("shareCode")}</label><input id={"c" + q.id} inputMode="numeric" autoComplete="off" maxLength={7} value={code} onInput={(e) => setCode(e.currentTarget.value)} /></div>
    <Buttons q={q} ready={/^\d{6}$/.test(digits)} accept={() => void answer(q, "accept", JSON.stringify({ code: digits }))} label={t("approve")} /></>;
}

function Approval({ q }: { q: Question }) {
  return <><div class="json-box"><JsonView fit text={JSON.stringify(q.params ?? null)} label={t("arguments")} /></div>
    {q.code && <><p class="mut">{t("fromScript")}</p><pre class="code text" tabIndex={0} role="group" aria-label={t("fromScript")}>{q.code}</pre></>}
    <Buttons q={q} ready accept={() => void answer(q, "accept")} label={t("allowOnce")} />
    {q.code && <div class="bar"><button type="button" class="button" disabled={!may("call")} onClick={() => void answer(q, "accept", undefined, true)}>{t("allowScript")}</button>
      <span class="mut">{t("allowScriptText", (q.server ?? "") + "." + (q.tool ?? ""))}</span></div>}</>;
}
