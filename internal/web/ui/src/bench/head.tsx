// The row above the panes: the target, the route to it, and the kind of item.
import type { Bench } from "../api.ts";
import { count } from "../format.ts";
import { t } from "../i18n/index.ts";
import { benches, clients, servers } from "../live.ts";
import { IconButton, Status, errorText, toast } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { Menu } from "../parts/menu.tsx";
import { go, href } from "../router.ts";
import { may } from "../state.ts";
import { toneOf } from "../pages/server_state.ts";
import { chaosText } from "./chaos.tsx";
import { Seg, type Option } from "./seg.tsx";
import { connect, labelOf, nameOf, titleOf } from "./session.ts";

interface HeadProps {
  bench: Bench; kind: string; onReload: () => void; onClose: () => void;
  kinds: [id: string, label: string, n: number | undefined, hidden: boolean][]; onKind: (k: string) => void;
}

export function BenchHead(p: HeadProps) {
  const { bench } = p;
  const label = titleOf(bench);
  const options = p.kinds.filter(([, , , hidden]) => !hidden).map(([id, text, n]): Option => [id, <>{text}{n !== undefined && <> <span class="mut">{count(n)}</span></>}</>]);
  return <div class="head bench-head"><h1 class="hidden">{label}</h1>
    <TargetMenu bench={bench} label={label} />
    {bench.target.server && <Route bench={bench} kind={p.kind} />}
    <Seg class="kinds" label={t("features")} selected={p.kind} onSelect={p.onKind} options={options} />
    {chaosText(bench.chaos) && <button type="button" class="tag warn plain-button" onClick={() => p.onKind("session")} data-testid="chaos-on">{t("chaosOn", chaosText(bench.chaos))}</button>}
    <span class="do"><IconButton icon="refresh" label={t("refresh")} onClick={p.onReload} /><IconButton icon="power" label={t("disconnect")} onClick={p.onClose} />
      <a class="button quiet" href="/ui/bench"><Icon name="plug" />{t("connectOther")}</a></span>
  </div>;
}

function TargetMenu({ bench, label }: { bench: Bench; label: string }) {
  const others = benches.value.filter((b) => b.id !== bench.id && nameOf(b).startsWith("@"));
  return <Menu class="button target-button" label={`${label} ${bench.info.transport} · ${bench.info.protocol}`} testid="target" text={<><Status tone={bench.down ? "err" : "ok"} state={bench.down ? "down" : "up"}><b title={labelOf(bench)}>{label}</b></Status><span class="mut">{bench.info.transport} · {bench.info.protocol}</span><Icon name="down" /></>}>
    {servers.value.map((s) => <a key={s.schema + s.name} href={href(["bench", s.name])}><Status tone={toneOf(s)}>{s.name}</Status></a>)}
    {[...new Set(servers.value.map((s) => s.schema))].map((s) => <a key={"~" + s} href={href(["bench", "~" + s])}><Status tone="ok">{t("wholeGateway", s)}</Status></a>)}
    {others.length > 0 && <><hr />{others.map((b) => <a key={b.id} href={href(["bench", nameOf(b)])}><Status tone={b.down ? "err" : "ok"}><span title={labelOf(b)}>{titleOf(b)}</span></Status></a>)}</>}
  </Menu>;
}

/** Route is direct, through the gateway, or through it as a connected client. */
function Route({ bench, kind }: { bench: Bench; kind: string }) {
  const server = bench.target.server!;
  const at = bench.target.as ? "as" : bench.target.via === "gateway" ? "gateway" : "direct";
  const turn = (to: string) => go(href(["bench", server, ...(kind !== "session" ? [kind] : [])], { via: to === "gateway" ? "gateway" : undefined }));
  const imitate = async (session: string) => {
    try { go(href(["bench", nameOf(await connect({ server, schema: bench.target.schema, via: "gateway", as: session }, undefined, true))])); } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  return <div class="seg sm" role="group" aria-label={t("route")}>
    {(["direct", "gateway"] as const).map((w) => <button type="button" key={w} aria-pressed={at === w} disabled={w === "direct" && !may("admin")} onClick={() => turn(w)} data-testid={"via-" + w}>{t(w === "direct" ? "routeDirect" : "viaGateway")}</button>)}
    <Menu class={"seg-button" + (at === "as" ? " on" : "")} label={t("asClient")} text={t("asClient")} disabled={!may("admin")}>
      <h3>{t(clients.value.length ? "pickClient" : "noClientsNow")}</h3>
      {clients.value.map((c) => <button type="button" key={c.session} onClick={() => void imitate(c.session)}>{c.name} {c.version}</button>)}
    </Menu>
  </div>;
}
