/** Switch is on or off, and acts at once. */
export function Switch(p: { on: boolean | "mixed"; label: string; id?: string; disabled?: boolean; onChange: (on: boolean) => void }) {
  return <button type="button" id={p.id} class="switch" role="switch" aria-checked={p.on} aria-label={p.label} disabled={p.disabled} onClick={(e) => { e.stopPropagation(); p.onChange(p.on !== true); }} />;
}

/** Segments selects one of a few choices. */
export function Segments<T extends string>(p: { label: string; value: T; choices: [T, string][]; onChange: (v: T) => void; id?: string }) {
  return <span class="seg" role="radiogroup" aria-label={p.label} id={p.id}>{p.choices.map(([v, text]) => <button type="button" role="radio" key={v} aria-checked={v === p.value} onClick={() => p.onChange(v)}>{text}</button>)}</span>;
}
