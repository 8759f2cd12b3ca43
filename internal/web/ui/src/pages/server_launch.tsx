// What a server that waits for approval would run or reach.
import { t } from "../i18n/index.ts";

/** Launch shows the entry as a person reads it; of secrets it has the names. */
export function Launch({ entry }: { entry: Record<string, any> }) {
  const line = [entry.command, ...(entry.args ?? [])].map((x) => (/^[\w@%+=:,./-]+$/.test(x) ? x : JSON.stringify(x))).join(" ");
  const names = Object.keys((entry.url ? entry.headers : entry.env) ?? {});
  return <section class="card due wide launch" aria-labelledby="h-launch" data-testid="launch">
    <h2 id="h-launch">{t(entry.url ? "wantsToReach" : "wantsToRun")}</h2>
    <pre class="code text" tabIndex={0} role="group" aria-labelledby="h-launch">{entry.url ?? line}</pre>
    {entry.cwd && <p>{t("directory")} <code>{entry.cwd}</code></p>}
    {names.length > 0 && <p>{t(entry.url ? "headers" : "environment")} <code>{names.join(", ")}</code> <span class="mut">{t("names")}</span></p>}
  </section>;
}
