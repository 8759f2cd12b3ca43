// The connect wizard: choose how, see the exact difference, write with a
// backup, undo.
import { useEffect, useState } from "preact/hooks";
import { change, path, type Client, type ConnectPlan, type Program } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { t } from "../i18n/index.ts";
import { clients } from "../live.ts";
import { CopyButton, IconButton, Notice, Status, errorText, toast } from "../parts/basics.tsx";
import { Diff } from "../parts/diff.tsx";

interface How { disconnect?: boolean; url?: boolean; move?: boolean }

export function Wizard({ program: p, onDone, onClose }: { program: Program; onDone: () => void; onClose: () => void }) {
  const [how, setHow] = useState<How>(p.connected ? { disconnect: true } : {});
  const [plan, setPlan] = useState<ConnectPlan>();
  const [error, setError] = useState("");
  const [done, setDone] = useState<ConnectPlan>();
  const load = () => change<ConnectPlan>("POST", path("programs", p.id, "plan"), how).then(setPlan, (e) => setError(errorText(e)));
  useEffect(() => { setPlan(undefined); setError(""); void load(); }, [JSON.stringify(how)]);
  useEffect(() => { commandLine.value = command(how.disconnect ? "disconnect" : "connect", p.id, ...(how.move ? ["--move"] : []), ...(how.url && plan ? ["--url", urlOf(plan)] : [])); }, [how, plan]);
  const apply = async (what: How, mark: string) => {
    try {
      const made = await change<ConnectPlan>("POST", path("programs", p.id, "apply"), { ...what, mark });
      setDone(what.disconnect ? undefined : made);
      onDone();
      if (what.disconnect) { toast(t("disconnected", p.name)); onClose(); }
    } catch (e) { setError(errorText(e)); void load(); }
  };
  const undo = async () => {
    try { await apply({ disconnect: true }, (await change<ConnectPlan>("POST", path("programs", p.id, "plan"), { disconnect: true })).mark); } catch (e) { setError(errorText(e)); }
  };
  return <div class="wizard" data-testid="wizard">
    <div class="bar"><b>{p.name}</b><code class="mut file" title={p.file}>{p.file}</code><span class="space" /><IconButton icon="close" label={t("close")} onClick={onClose} /></div>
    {done ? <Waiting p={p} made={done} onUndo={() => void undo()} /> : <>
      {!how.disconnect && <div class="choices">
        <label class="check"><input type="radio" name="way" checked={!how.url} onChange={() => setHow({ ...how, url: false })} />{t("wayCommand")}</label>
        <label class="check"><input type="radio" name="way" checked={!!how.url} disabled={!p.dials} onChange={() => setHow({ ...how, url: true })} />{t("wayURL")}</label>
        {p.servers.length > 0 && <label class="check"><input type="checkbox" checked={!!how.move} onChange={(e) => setHow({ ...how, move: e.currentTarget.checked })} />{t("moveServers", p.servers.length)}</label>}
      </div>}
      {error && <Notice tone="err">{error}</Notice>}
      {plan && (plan.diff ? <Diff text={plan.diff} label={t("diffOf", p.name)} /> : <p class="pad"><Status tone="ok">{t("nothingToChange")}</Status></p>)}
      {plan && plan.moving.length > 0 && <p class="mut">{t("willMove", plan.moving.join(", "))}</p>}
      {plan && <div class="bar"><button type="button" class="button primary" disabled={!plan.diff} onClick={() => void apply(how, plan.mark)}>{t(how.disconnect ? "takeOut" : "writeBackup")}</button>
        {plan.snippet && <CopyButton text={() => plan.snippet!} label={t("copySnippet")} />}
        {p.connected && <button type="button" class="link" onClick={() => setHow(how.disconnect ? {} : { disconnect: true })}>{t(how.disconnect ? "changeWay" : "disconnect")}</button>}</div>}
    </>}
  </div>;
}

const urlOf = (plan: ConnectPlan) => /https?:\/\/[^"'\s]+/.exec(plan.diff)?.[0] ?? "URL";

/** Waiting shows when the program has connected. */
function Waiting({ p, made, onUndo }: { p: Program; made: ConnectPlan; onUndo: () => void }) {
  const [before] = useState(() => new Set(clients.peek().map((c) => c.session)));
  const come = clients.value.find((c) => !before.has(c.session) && isIt(p, c));
  return <div class="pad waiting">
    <p>{come ? <Status tone="ok" state="come"><b>{t("hasCome", come.name ?? p.name)}</b></Status> : <Status tone="busy" state="waiting">{t("waitsFor", p.name)}</Status>}</p>
    {made.backup && <p class="mut">{t("backupAt")} <code>{made.backup}</code></p>}
    <p><button type="button" class="button" onClick={onUndo}>{t("undo")}</button></p>
  </div>;
}

/** isIt guesses by the name that a client declares. */
function isIt(p: Program, c: Client): boolean {
  const name = (c.name ?? "").toLowerCase();
  return p.id.split("-").some((word) => name.includes(word)) || name.includes(p.name.toLowerCase());
}
