// One call: why it failed, where its time went, and the messages on each hop.
import { useEffect, useState } from "preact/hooks";
import { get, path, type Call, type Slice } from "../api.ts";
import { bytes, clock, ns } from "../format.ts";
import { lang, t } from "../i18n/index.ts";
import { useShortcuts } from "../keys.ts";
import { on, servers } from "../live.ts";
import { parse, stringify, isObject, type Json } from "../json/exact.ts";
import { JsonView, TextView } from "../json/view.tsx";
import { CopyButton, IconButton, Notice, Panel, Status, Tabs, useLoad } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { PartTree } from "../parts/tree.tsx";
import { go, href } from "../router.ts";
import { may } from "../state.ts";
import { encodeArgs } from "../bench/args.ts";
import { SaveTest } from "../bench/save.tsx";
import { signIn } from "./servers.tsx";
import { failed, outcome, statusName, toneOfCall } from "./traffic.tsx";
import { TimeSplit } from "./traffic_time.tsx";

interface Answer { call: Call; related: Call[] }

/** at is the address of an entry, which another replica of a cluster may have. */
const at = (id: number, replica: string, more: Record<string, string> = {}) => path("traffic", id, ...(more.side ? ["body"] : [])) + "?" + new URLSearchParams({ ...more, ...(replica && { replica }) });

/** Entry shows the entry of this gateway, or of another replica. */
export function Entry({ id, replica, onClose, onStep }: { id: number; replica: string; onClose: () => void; onStep: (by: number) => void }) {
  const { value, error, reload } = useLoad(async () => ({ of: replica, ...await get<Answer>(at(id, replica)) }), [id, replica]);
  const [tab, setTab] = useState("");
  useEffect(() => replica ? undefined : on("traffic", (calls) => { if (calls.some((c) => c.id === id || c.parent === id)) reload(); }), [id, replica]);
  // The events of another replica do not arrive here.
  useEffect(() => { const timer = replica && value?.call.status === "pending" ? setInterval(reload, 2000) : 0; return () => clearInterval(timer); }, [value, replica]);
  const buttons = <><IconButton icon="up" label={t("previous")} onClick={() => onStep(-1)} /><IconButton icon="down" label={t("next")} onClick={() => onStep(1)} /><IconButton icon="close" label={t("close")} onClick={onClose} /></>;
  if (error) return <aside class="entry" aria-label={t("entryTitle")}><div class="dh"><span class="space" />{buttons}</div><div class="pad"><Notice tone="err">{error}</Notice></div></aside>;
  if (!value || value.call.id !== id || value.of !== replica) return <aside class="entry" aria-label={t("entryTitle")} />;
  const { call, related } = value;
  const hops = related.filter((c) => c.kind === "call" && !c.fromServer);
  const others = related.filter((c) => c.kind !== "call" || c.fromServer);
  const tabs = [...hops.map((c) => ({ id: String(c.id), label: t(c.hop === "client" ? "clientSide" : "serverSide") })), { id: "related", label: t("relatedCount", others.length) }];
  const selected = tabs.some((x) => x.id === tab) ? tab : String(hops.find((c) => c.id === id)?.id ?? tabs[0]!.id);
  const hop = hops.find((c) => String(c.id) === selected), locked = may("admin") && servers.value.find((s) => s.name === call.server && s.schema === (call.schema || "default") && s.state === "auth");
  return <aside class="entry" aria-label={t("entryTitle")} data-testid="entry">
    <div class="dh"><Status tone={toneOfCall(call)} state={call.status} /><h2 class="cut grow">{call.server} <code>{call.name || call.method}</code></h2>{buttons}</div>
    <p class="dm">{[replica && `${t("replica")} ${replica}`, call.client, clock(call.start), call.principal, call.schema && call.schema !== "default" ? call.schema : "", t("callNumber", String(call.id))].filter(Boolean).join(" · ")}</p>
    {failed(call) && <Notice tone={call.status === "tool_error" ? "warn" : "err"}><b data-testid="why">{outcome(call)}</b><div class="mut">{statusName(call)}{call.reason ? ` · ${call.reason}` : ""}</div>{locked && <button type="button" class="button primary small" onClick={() => void signIn(locked)}>{t("signIn")}</button>}</Notice>}
    <div class="do-row"><OpenInBench calls={hops} replica={replica} /><CopyButton text={() => JSON.stringify(value, null, 2)} /></div>
    <TimeSplit call={hops.find((c) => c.hop === "client") ?? call} related={related} />
    <Notes related={related} hops={hops} />
    <div class="tabline"><Tabs name="entry" label={t("hops")} selected={selected} onSelect={setTab} tabs={tabs} /></div>
    <Panel name="entry" selected={selected}>
      {hop ? <div class="bodies"><Body key={`${hop.id}q`} call={hop} replica={replica} side="req" size={hop.reqSize} /><Body key={`${hop.id}s${hop.status}`} call={hop} replica={replica} side="res" size={hop.resSize} /></div>
        : <ul class="plain related">{others.map((c) => <li key={c.id}><a href={href(["traffic", String(c.id)], { replica })}>{clock(c.start)}</a> {c.fromServer ? "←" : "→"} <code>{c.method}</code> {c.name} <Status tone={toneOfCall(c)}>{c.status === "ok" ? "" : statusName(c)}</Status> {ns(c.total)}</li>)}
          {!others.length && <li class="mut">{t("nothingElse")}</li>}</ul>}
    </Panel>
  </aside>;
}

/** Notes shows what was translated between the hops, and why. */
function Notes({ related, hops }: { related: Call[]; hops: Call[] }) {
  const list = related.flatMap((c) => (lang.value === "zh-CN" && c.notesZH) || c.notes || []);
  const [near, far] = [hops.find((c) => c.hop === "client"), hops.find((c) => c.hop === "server")];
  if (near?.name && far?.name && near.name !== far.name) list.push(t("renamed", near.name, far.name));
  return list.length ? <ul class="notes" aria-label={t("translated")}>{list.map((n) => <li key={n}>{n}</li>)}</ul> : null;
}

/** Body reads a body in slices, so that a large body does not slow the page down. */
function Body({ call, replica, side, size }: { call: Call; replica: string; side: "req" | "res"; size: number }) {
  const [text, setText] = useState<string>();
  const [slice, setSlice] = useState<Slice>();
  const load = async (so: string, offset: number) => {
    const s = await get<Slice>(at(call.id, replica, { side, offset: String(offset), limit: "262144" })).catch(() => undefined);
    setSlice(s);
    setText(s ? so + s.text : so);
  };
  // A large body is shown as a tree that the gateway splits; the text is
  // available too.
  const [asText, setAsText] = useState(false);
  const large = size > 262_144;
  useEffect(() => { if (size) void load("", 0); }, [call.id, size]);
  const got = slice ? slice.offset + new Blob([slice.text]).size : 0;
  const label = t(side === "req" ? "request" : "response");
  const tree = large && !asText && slice?.whole;
  return <section aria-label={label}><div class="bar"><h3>{label}</h3><span class="mut">{bytes(size)}</span><span class="space" />
    {large && slice?.whole && <button type="button" class="link" onClick={() => setAsText(!asText)}>{t(asText ? "tree" : "text")}</button>}</div>
    {!size && <p class="mut pad">{call.status === "pending" && side === "res" ? t("call_pending") : t("noBody")}</p>}
    {slice && !slice.whole && <Notice tone="info">{t("onlyHead", bytes(slice.size))}</Notice>}
    {tree && <PartTree url={at(call.id, replica, { side })} label={label} />}
    {!tree && text !== undefined && (slice && got >= slice.size ? <div class="json-box"><JsonView fit text={text} label={label} /></div> : <TextView text={text} label={label} />)}
    {!tree && slice && got < slice.size && <button type="button" class="button" onClick={() => void load(text ?? "", got)}>{t("loadMore", bytes(slice.size - got))}</button>}
    {size > 0 && text === undefined && slice === undefined && <p class="mut pad">…</p>}
  </section>;
}

/** OpenInBench opens a client's call in the Bench, runs it again there, or makes a test of it. */
function OpenInBench({ calls, replica }: { calls: Call[]; replica: string }) {
  const call = calls.find((c) => c.hop === "server" && c.server) ?? calls.find((c) => c.server);
  const [link, setLink] = useState("");
  useEffect(() => {
    setLink("");
    if (!call) return;
    const kinds: Record<string, string> = { "tools/call": "tools", "prompts/get": "prompts", "resources/read": "resources" };
    const kind = kinds[call.method];
    if (!kind || !call.name) return;
    void get<Slice>(at(call.id, replica, { side: "req" })).then((s) => {
      setLink(href(["bench", call.server!, kind, call.name!], { a: s.whole ? argsOf(s.text) : undefined }));
    }, () => setLink(href(["bench", call.server!, kind, call.name!])));
  }, [call?.id, replica]);
  const again = call?.method === "tools/call" && may("call") ? () => go(link, false, { run: true }) : undefined;
  useShortcuts([{ keys: "b", label: "openInBench", run: () => { if (link) go(link); } }, { keys: "r", label: "rerun", run: () => { if (link) again?.(); } }]);
  return link ? <><a class="button small" href={link}><Icon name="bench" />{t("openInBench")}</a>{again && <button type="button" class="button small" onClick={again}><Icon name="refresh" />{t("rerun")}</button>}
    {call!.hop === "server" && call!.status !== "pending" && !replica && <SaveTest key={call!.id} from={{ q: "id:" + call!.id }} name={call!.server!} />}</> : null;
}

function argsOf(body: string): string | undefined {
  try {
    let v: Json | undefined = parse(body);
    if (isObject(v) && isObject(v.params)) v = v.params;
    const args = isObject(v) ? v.arguments : undefined;
    return args === undefined ? undefined : encodeArgs(stringify(args));
  } catch { return undefined; }
}
