// A group of buttons of which one is selected.
import type { ComponentChildren } from "preact";

export type Option = [id: string, label: ComponentChildren, disabled?: boolean];

export function Seg(p: { label: string; options: Option[]; selected: string; onSelect: (id: string) => void; class?: string }) {
  return <div class={"seg sm " + (p.class ?? "")} role="group" aria-label={p.label}>{p.options.map(([id, label, disabled]) => <button type="button" key={id} aria-pressed={id === p.selected} disabled={disabled}
    onClick={() => p.onSelect(id)} data-testid={"tab-" + id}>{label}</button>)}</div>;
}
