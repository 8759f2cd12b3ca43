// Save a run as a test.
import { useState } from "preact/hooks";
import { ApiError, change, get, path, type Suite } from "../api.ts";
import { t } from "../i18n/index.ts";
import { useShortcuts } from "../keys.ts";
import { Notice, errorText, toast } from "../parts/basics.tsx";
import { Icon } from "../parts/icons.tsx";
import { go, href } from "../router.ts";
import { may } from "../state.ts";

/** addTest appends the test of a run to a suite, or creates the suite. */
async function addTest(name: string, draft: string): Promise<void> {
  const old = await get<Suite>(path("suites", name)).catch((e) => { if (e instanceof ApiError && e.status === 404) return undefined; throw e; });
  const tests = draft.slice(draft.indexOf("tests:\n") + "tests:\n".length);
  await change("PUT", path("suites", name), { text: old?.text ? old.text.trimEnd() + "\n" + tests : draft });
}

/** SaveTest saves a run of the Bench, or the calls that match a filter. name suggests the suite. */
export function SaveTest({ from, name: suggested }: { from: { run: string } | { q: string }; name: string }) {
  const [name, setName] = useState<string>();
  const [error, setError] = useState("");
  const start = () => { setError(""); setName((suggested.match(/^[\w.-]+/)?.[0] ?? "bench").replace(/\.$/, "")); };
  const save = async () => {
    try {
      const { text, calls } = await change<{ text: string; calls: number }>("POST", "suites/draft", from);
      if (!calls) throw new Error(t("nothingToTest"));
      await addTest(name!, text);
      const suite = name!;
      setName(undefined);
      toast(t("savedTest", suite), { label: "open", run: () => go(href(["tests", suite])) });
    } catch (e) { setError(errorText(e)); }
  };
  useShortcuts([{ keys: "s", label: "saveAsTest", run: start }]);
  return <>
    <button type="button" class="button small" data-testid="save-test" disabled={!may("admin")} aria-expanded={name !== undefined} onClick={start}><Icon name="tests" /><span class="lb">{t("saveAsTest")}</span></button>
    {name !== undefined && <form class="save-box" aria-label={t("saveAsTest")} onSubmit={(e) => { e.preventDefault(); void save(); }} onKeyDown={(e) => { if (e.key === "Escape") { e.stopPropagation(); setName(undefined); } }}>
      <label for="suite-name">{t("suiteName")}</label><input id="suite-name" class="mono" value={name} spellcheck={false} ref={(el) => { if (el && document.activeElement !== el && !el.dataset.seen) { el.dataset.seen = "1"; el.focus(); } }} onInput={(e) => setName(e.currentTarget.value)} />
      {error && <Notice tone="err">{error}</Notice>}
      <span class="bar"><button type="submit" class="button primary small" disabled={!name}>{t("save")}</button><button type="button" class="button small" onClick={() => setName(undefined)}>{t("cancel")}</button></span>
    </form>}
  </>;
}
