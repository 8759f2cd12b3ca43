// Problems, and what to do about them.
import { useEffect, useState } from "preact/hooks";
import { get, type Finding, type Leg, type LintFinding } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { ns } from "../format.ts";
import { lang, said, t, type Key } from "../i18n/index.ts";
import { CopyButton, Notice, Status, useLoad } from "../parts/basics.tsx";
import { Head, Skeleton } from "../parts/head.tsx";
import { Icon } from "../parts/icons.tsx";
import { href, segments } from "../router.ts";
import { may } from "../state.ts";
import { signIn } from "./servers.tsx";

export function Doctor() {
  const [, schema, name] = segments.value;
  const { value, error, reload } = useLoad(() => get<Finding[]>("doctor" + (name ? "?" + new URLSearchParams({ schema: schema!, server: name }) : "")), [schema, name, lang.value]);
  const [busy, setBusy] = useState(true);
  useEffect(() => { commandLine.value = command("doctor", ...(name ? [name] : [])); }, [name]);
  useEffect(() => setBusy(false), [value, error]);
  const bad = (value ?? []).filter((f) => !f.ok), good = (value ?? []).filter((f) => f.ok);
  return <div class="page doctor-page">
    <Head title={name ? <><a href="/ui/doctor">{t("doctor")}</a> / {name}</> : t("doctor")} what={<>{busy ? <Status tone="busy">{t("examining")}</Status> : value && <Status tone={bad.length ? "err" : "ok"}>{bad.length ? t("problemsN", bad.length) : t("noProblems")}</Status>}{value && !busy && <span> · {t("checkedN", value.length)}</span>}</>}>
      {name && <a class="button" href="/ui/doctor">{t("everything")}</a>}
      <button type="button" class="button primary" disabled={busy} onClick={() => { setBusy(true); reload(); }}><Icon name="refresh" />{t("examineAgain")}</button></Head>
    {error && <Notice tone="err">{error}</Notice>}
    <div class="scroll">{!value && !error && <Skeleton cards={["c12", "c12"]} rows={3} />}
      <ul class="plain findings">{bad.map((f, i) => <FindingCard key={"b" + i} f={f} />)}</ul>
      {good.length > 0 && <section class="wide" aria-label={t("wellGroup")}>{bad.length > 0 && <h2 class="h3 findings-h">{t("wellGroup")}</h2>}<ul class="plain findings">{good.map((f, i) => <FindingCard key={"g" + i} f={f} />)}</ul></section>}</div>
  </div>;
}

function FindingCard({ f }: { f: Finding }) {
  const [first, ...rest] = (f.detail ?? "").split("\n");
  const server = { schema: f.schema ?? "", name: f.name ?? "" };
  return <li class={"card finding" + (f.ok ? "" : " bad")} data-testid={"finding-" + (f.name ?? "config")}>
    <div class="finding-head"><Status tone={f.ok ? "ok" : "err"}>{f.name ? <a href={href(["servers", f.schema!, f.name])}><b>{f.what}</b></a> : <b>{f.what}</b>}</Status> <span class="finding-detail">{first}</span>
      {f.name && <span class="links"><a href={href(["doctor", f.schema!, f.name])}>{t("onlyThis")}</a></span>}</div>
    {rest.length > 0 && <pre class="code text" tabIndex={0} role="group" aria-label={f.what}>{rest.join("\n")}</pre>}
    {f.way && <Way legs={f.way} />}
    {(f.fix || f.command) && <p class="fix"><b>{t("fix")}</b> {f.fix} {f.command && <><code>{f.command}</code> <CopyButton text={() => f.command!} /></>}
      {may("admin") && f.command?.includes(" approve ") && <a class="button" href={href(["servers", f.schema!, f.name!])}>{t("review")}</a>}
      {may("admin") && f.command?.includes(" auth login ") && <button type="button" class="button primary" onClick={() => void signIn(server)}>{t("signIn")}</button>}</p>}
    {f.lint && f.lint.length > 0 && <Lint list={f.lint} />}
  </li>;
}

/** Way shows the steps of a connection to a server over HTTP, and where it fails. */
function Way({ legs }: { legs: Leg[] }) {
  return <ol class="way" aria-label={t("way")}>{legs.map((l, i) => <li key={l.name} class={l.ok ? "" : "bad"}>
    <span class="n">{i + 1}</span><Status tone={l.ok ? "ok" : "err"}><b>{t(("leg_" + l.name) as Key)}</b></Status> <span class="mut">{ns(l.took)}</span><code>{said(l.detail, l.detailZH)}</code></li>)}</ol>;
}

function Lint({ list }: { list: LintFinding[] }) {
  const errors = list.filter((l) => l.severity === "error").length;
  return <details><summary>{t("lintN", list.length)}{errors ? ` · ${t("problemsN", errors)}` : ""}</summary>
    <ul class="plain lint">{list.slice(0, 200).map((l, i) => <li key={i}><Status tone={l.severity === "error" ? "err" : "warn"}><code>{l.item || l.kind}</code></Status> {said(l.message, l.messageZH)} <span class="mut">{l.rule}</span></li>)}</ul></details>;
}
