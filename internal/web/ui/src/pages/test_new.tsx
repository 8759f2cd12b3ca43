// Makes a test file from recorded calls.
import { useEffect, useState } from "preact/hooks";
import { change } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { t } from "../i18n/index.ts";
import { Empty, Notice, errorText } from "../parts/basics.tsx";
import { Head } from "../parts/head.tsx";
import { go, href, query, setQuery } from "../router.ts";
import { servers } from "../live.ts";
import { SuiteText } from "./test_suite.tsx";

interface Made { server?: string; servers: string[]; calls: number; text: string }

export function SuiteNew() {
  const q = query.value.get("q") ?? "";
  const [made, setMade] = useState<Made>();
  const [error, setError] = useState("");
  const [name, setName] = useState<string>();
  useEffect(() => { commandLine.value = command("test", "from-traffic", q || "FILTER"); }, [q]);
  useEffect(() => {
    const timer = setTimeout(() => change<Made>("POST", "suites/draft", { q }).then((m) => { setMade(m); setError(""); }, (e) => setError(errorText(e))), 200);
    return () => clearTimeout(timer);
  }, [q]);
  // The server's name is suggested, but not into a field that is being filled in.
  const chosen = name ?? made?.server ?? "";
  const narrow = (server: string) => setQuery({ q: `${q} server:${server}`.trim() });
  return <div class="page new-suite">
    <Head title={<><a href="/ui/tests">{t("tests")}</a> / {t("fromTraffic")}</>} />
    <div class="search-line">
      <input type="search" class="mono grow" data-filter value={q} placeholder="server:github since:10m" aria-label={t("filter")} spellcheck={false} onInput={(e) => setQuery({ q: e.currentTarget.value })} />
      <label class="check">{t("suiteName")} <input class="mono suite-name" value={chosen} spellcheck={false} onFocus={() => setName(chosen)} onBlur={() => name === "" && setName(undefined)}
        onInput={(e) => setName(e.currentTarget.value)} /></label></div>
    {error && <Notice tone="err">{error}</Notice>}
    {made && <p class="mut pad">{t("callsFound", made.calls)} · {t("draftHint")}</p>}
    {made && made.servers.length > 1 && <Notice tone="warn"><div class="row wrap"><span>{t("severalServers")}</span>{made.servers.map((s) => <button type="button" class="button small" key={s} onClick={() => narrow(s)}>{s}</button>)}</div></Notice>}
    {made && made.servers.length === 1 && <SuiteText key={made.text} name={chosen} text={made.text} onSaved={() => go(href(["tests", chosen]))} />}
    {made && !made.servers.length && <Empty>{t("nothingToTest")} {!servers.value.length && <a href="/ui/servers/new">{t("addServer")}</a>}</Empty>}
  </div>;
}
