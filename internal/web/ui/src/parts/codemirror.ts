// CodeMirror for JSON, inside a shadow root. There it uses constructed style
// sheets, which the page's policy allows, instead of style elements.
import { history, historyKeymap, standardKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--key)" }, { tag: tags.string, color: "var(--str)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--num)" },
]);

const theme = EditorView.theme({
  "&": { backgroundColor: "var(--field)", color: "var(--tx)", border: "1px solid var(--line)", borderRadius: "5px", fontSize: "12px" },
  "&.cm-focused": { outline: "2px solid var(--acc)", outlineOffset: "-1px" },
  ".cm-content": { fontFamily: "ui-monospace, Menlo, 'DejaVu Sans Mono', monospace", caretColor: "var(--tx)", minHeight: "160px" },
  ".cm-gutters": { backgroundColor: "var(--bg)", color: "var(--mut)", border: "none" },
});

export function mount(host: HTMLElement, text: string, label: string, onChange: (text: string) => void) {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), indentOnInput(), bracketMatching(), json(), syntaxHighlighting(colours), theme,
        EditorView.contentAttributes.of({ "aria-label": label }), EditorView.lineWrapping,
        keymap.of([{ key: "Mod-Enter", run: () => true }, ...historyKeymap, ...standardKeymap]),
        EditorView.updateListener.of((u) => { if (u.docChanged) onChange(u.state.doc.toString()); }),
      ],
    }),
  });
  return {
    set(next: string) {
      if (next !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    destroy: () => view.destroy(),
  };
}
