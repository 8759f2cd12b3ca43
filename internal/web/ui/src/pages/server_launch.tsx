// What a server that waits for approval would run or connect to.
import { t } from "../i18n/index.ts";

/** Launch shows the whole entry to principals that may approve it; to others it shows the command, and the names of its settings. */
export function Launch({ entry, whole }: { entry: Record<string, any>; whole?: string }) {
  const line = [entry.command, ...(entry.args ?? [])].map((x) => (/^[\w@%+=:,./-]+$/.test(x) ? x : JSON.stringify(x))).join(" ");
  const names = Object.keys((entry.url ? entry.headers : entry.env) ?? {});
  const title = <h2 id="h-launch">{t(entry.url ? "wantsToReach" : entry.scripts ? "wantsScripts" : "wantsToRun")}</h2>;
  if (whole) return <section class="card due wide launch" aria-labelledby="h-launch" data-testid="launch">{title}
    <pre class="code text" tabIndex={0} role="group" aria-labelledby="h-launch">{whole}</pre></section>;
  return <section class="card due wide launch" aria-labelledby="h-launch" data-testid="launch">
    {title}
    <pre class="code text" tabIndex={0} role="group" aria-labelledby="h-launch">{entry.url ?? line}</pre>
    {entry.cwd && <p>{t("directory")} <code>{entry.cwd}</code></p>}
    {names.length > 0 && <p>{t(entry.url ? "headers" : "environment")} <code>{names.join(", ")}</code> <span class="mut">{t("names")}</span></p>}
  </section>;
}
