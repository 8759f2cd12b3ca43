// Rows of names and values: environment, headers, roots.
import { t } from "../i18n/index.ts";
import { kind } from "../form/scalar.tsx";
import { IconButton } from "./basics.tsx";
import { Icon } from "./icons.tsx";

export type Pair = [string, string];

/** Vault tells which names have values that go to the secret store. */
export interface Vault { has: (name: string) => boolean; flip: (name: string) => void }

export function Rows(p: { label: string; pairs: Pair[]; onChange: (pairs: Pair[]) => void; name?: string; value?: string; secret?: boolean; vault?: Vault }) {
  const set = (i: number, pair: Pair) => p.onChange(p.pairs.map((x, j) => (j === i ? pair : x)));
  return <div class="rows" role="group" aria-label={p.label}>
    {p.pairs.map(([k, v], i) => <div class={p.vault ? "row-pair four" : "row-pair"} key={i}>
      <input value={k} placeholder={p.name ?? t("name")} aria-label={`${p.label} ${p.name ?? t("name")} ${i + 1}`} spellcheck={false} onInput={(e) => set(i, [e.currentTarget.value, v])} />
      <input value={v} placeholder={p.value ?? t("value")} aria-label={`${p.label} ${p.value ?? t("value")} ${i + 1}`} spellcheck={false}
        {...kind(p.secret && v === "***" || p.vault?.has(k) ? "password" : "text")} autocomplete="off" onFocus={(e) => e.currentTarget.select()} onInput={(e) => set(i, [k, e.currentTarget.value])} />
      {p.vault && <IconButton icon="shield" label={t("keepSecret", k || t("thisValue"))} pressed={p.vault.has(k)} onClick={() => p.vault!.flip(k)} />}
      <IconButton icon="close" label={t("remove")} onClick={() => p.onChange(p.pairs.filter((_, j) => j !== i))} />
    </div>)}
    <button type="button" class="link" onClick={() => p.onChange([...p.pairs, ["", ""]])}><Icon name="plus" />{t("addRow")}</button>
  </div>;
}

export const toPairs = (m: unknown): Pair[] => Object.entries((m ?? {}) as Record<string, unknown>).map(([k, v]) => [k, String(v)]);
export const fromPairs = (pairs: Pair[]): Record<string, string> | undefined => {
  const kept = pairs.filter(([k]) => k);
  return kept.length ? Object.fromEntries(kept) : undefined;
};
