// Faults to inject, for this session of the Bench only.
import { useState } from "preact/hooks";
import { change, path, type Bench, type Chaos } from "../api.ts";
import { t } from "../i18n/index.ts";
import { refreshBenches } from "../live.ts";
import { errorText, toast } from "../parts/basics.tsx";
import { may } from "../state.ts";

export const chaosText = (c: Chaos | undefined) => (!c ? "" : c.error ? t("chaosError") : c.cut ? t("chaosCut") : c.delay ? t("chaosDelay") + ` ${c.delay} ms` : "");

export function ChaosBox({ bench }: { bench: Bench }) {
  const c = bench.chaos ?? {};
  const [ms, setMs] = useState(String(c.delay ?? 2000));
  const set = async (next: Chaos) => {
    try { await change("PUT", path("bench", bench.id, "chaos"), next); await refreshBenches(); } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  const flip = (key: "error" | "cut", label: string, hint: string) => <div class="chaos-line"><button type="button" role="switch" class="switch" id={"chaos-" + key} aria-checked={!!c[key]} disabled={!may("call")} onClick={() => void set({ ...c, [key]: !c[key] || undefined })} />
    <label for={"chaos-" + key}>{label}</label><span class="hint">{hint}</span></div>;
  return <fieldset class="chaos" data-testid="chaos"><legend>{t("chaos")}</legend><p class="hint">{t("chaosHint")}</p>
    <div class="chaos-line"><button type="button" role="switch" class="switch" id="chaos-delay" aria-checked={!!c.delay} disabled={!may("call")} onClick={() => void set({ ...c, delay: c.delay ? undefined : Number(ms) || 2000 })} /><label for="chaos-delay">{t("chaosDelay")}</label>
      <input inputMode="numeric" aria-label={t("chaosDelayMs")} value={ms} disabled={!may("call")} onInput={(e) => setMs(e.currentTarget.value)} onChange={(e) => { const n = Math.round(Number(e.currentTarget.value)); if (n > 0) void set({ ...c, delay: n }); }} /> <span class="hint">ms</span></div>
    {flip("error", t("chaosError"), t("chaosErrorHint"))}
    {flip("cut", t("chaosCut"), t("chaosCutHint"))}
  </fieldset>;
}
