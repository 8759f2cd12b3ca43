// A line diff, in the format of patch.
export function Diff({ text, label }: { text: string; label: string }) {
  return <pre class="code text difftext" tabIndex={0} role="group" aria-label={label} data-testid="diff">{text.trimEnd().split("\n").map((line, i) =>
    <span key={i} class={line.startsWith("+++") || line.startsWith("---") || line.startsWith("@@") ? "mut" : line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : undefined}>{line + "\n"}</span>)}</pre>;
}

/** Revealed highlights hidden characters, which are written as ⟨U+202E⟩. */
export function Revealed({ text }: { text: string }) {
  return <>{text.split(/(⟨U\+[0-9A-F]{4,6}⟩)/).map((part, i) => (i % 2 ? <mark key={i}>{part}</mark> : part))}</>;
}
