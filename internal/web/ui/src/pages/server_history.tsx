// Differences between a server's tools and their earlier or approved
// definitions.
import type { Definition, ServerDetail } from "../api.ts";
import { t } from "../i18n/index.ts";
import { Empty, Notice, Status } from "../parts/basics.tsx";
import { Revealed } from "../parts/diff.tsx";
import { may } from "../state.ts";
import { approve } from "./servers.tsx";

export function History({ d, reload }: { d: ServerDetail; reload: () => void }) {
  const changes = d.changes ?? [], alike = (d.lookalikes ?? []);
  return <div class="page history-page">
    {changes.length > 0 && <div class="bar"><Status tone="warn">{t("changedTools", changes.length)}</Status><span class="space" />
      {may("admin") && !d.replica && <button type="button" class="button primary" disabled={!d.approval} onClick={() => void approve(d, reload)}>{t("approveChanges")}</button>}</div>}
    {changes.map((c) => <Change key={c.kind + c.name + (c.user ?? "")} c={c} />)}
    {alike.length > 0 && <section class="card" aria-labelledby="h-alike"><h2 id="h-alike">{t("lookalikes")}</h2>
      <ul class="plain">{alike.map((l) => <li key={l.tools.join()}><Status tone={l.same ? "idle" : "warn"}>{l.tools.map((x, i) => <span key={x}>{i ? " · " : ""}<code><Revealed text={x} /></code></span>)}</Status> <span class="mut">{t(l.same ? "sameName" : "onlyLooks")}</span></li>)}</ul></section>}
    {!changes.length && <Empty>{t("noChanges")}</Empty>}
  </div>;
}

export function Change({ c }: { c: Definition }) {
  return <section class="card change" aria-label={c.name || t(`changed_${c.kind}`)} data-testid={"change-" + (c.name || c.kind)}>
    <h2><span class="mut">{t(`changed_${c.kind}`)}</span> {c.name && <code><Revealed text={c.name} /></code>} {c.user && <span class="mut">{t("shownToUser")} <code><Revealed text={c.user} /></code></span>} {c.withheld && <span class="tag d">{t("withheldTool")}</span>}</h2>
    {c.changes.some((x) => /⟨U\+/.test((x.was ?? "") + (x.now ?? ""))) && <Notice tone="warn">{t("hiddenCharacters")}</Notice>}
    {c.suspicious?.map((x) => <Notice key={x.path + x.text} tone="warn">{t("ordersModel")} <q><Revealed text={x.text} /></q></Notice>)}
    <div class="table-scroll" tabIndex={0} role="group" aria-label={c.name || c.kind}><table class="diff sides"><thead><tr><th>{t("place")}</th><th>{t("was")}</th><th>{t("isNow")}</th></tr></thead>
      <tbody>{c.changes.map((x) => <tr key={x.path}><td><code>{x.path}</code></td><td class="before"><code>{x.was ? <Revealed text={x.was} /> : <span class="mut">{t("absent")}</span>}</code></td><td class="after"><code>{x.now ? <Revealed text={x.now} /> : <span class="mut">{t("absent")}</span>}</code></td></tr>)}</tbody></table></div>
  </section>;
}
