// A JSON editor. CodeMirror is loaded when it is first needed; until then, or
// if it cannot be loaded, a plain box is used.
import { useEffect, useRef, useState } from "preact/hooks";

export interface EditorProps { value: string; onChange: (text: string) => void; label: string }

export function Editor({ value, onChange, label }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<{ set: (text: string) => void; destroy: () => void } | undefined>(undefined);
  const now = useRef({ value, onChange });
  const [plain, setPlain] = useState(true);
  now.current = { value, onChange };
  useEffect(() => {
    let live = true;
    import("./codemirror.ts").then((m) => {
      if (!live || !host.current) return;
      view.current = m.mount(host.current, now.current.value, label, (text) => now.current.onChange(text));
      setPlain(false);
    }, () => { /* the plain box stays */ });
    return () => { live = false; view.current?.destroy(); view.current = undefined; };
  }, []);
  useEffect(() => { view.current?.set(value); }, [value]);
  return <div class="json-editor">
    <div ref={host} class="cm-host" data-testid="editor" />
    {plain && <textarea class="mono" rows={12} aria-label={label} spellcheck={false} value={value} onInput={(e) => onChange(e.currentTarget.value)} />}
  </div>;
}
