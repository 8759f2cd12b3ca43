// Three panes with draggable lines between them. The browser stores the sizes.
import { useRef } from "preact/hooks";
import { t, type Key } from "../i18n/index.ts";
import { useShortcuts } from "../keys.ts";
import { remembered } from "../state.ts";

interface Sizes { list: number; form: number; listShut: boolean; formShut: boolean }
const usual: Sizes = { list: 236, form: 368, listShut: false, formShut: false };
export const sizes = remembered<Sizes>("bench.panes", usual);
const least = 180, most = 900;

export const paneStyle = () => ({
  gridTemplateColumns: `${sizes.value.listShut ? 0 : sizes.value.list}px 1px ${sizes.value.formShut ? 0 : sizes.value.form}px 1px minmax(0, 1fr)`,
});

export function usePaneKeys(): void {
  useShortcuts([
    { keys: "[", label: "toggleList", run: () => { sizes.value = { ...sizes.peek(), listShut: !sizes.peek().listShut }; } },
    { keys: "]", label: "toggleForm", run: () => { sizes.value = { ...sizes.peek(), formShut: !sizes.peek().formShut }; } },
  ]);
}

/** Gutter can be dragged, moved with the arrow keys in steps of 16, and reset with a double click. */
export function Gutter({ pane, label }: { pane: "list" | "form"; label: Key }) {
  const from = useRef<{ x: number; size: number } | undefined>(undefined);
  const shut = sizes.value[pane === "list" ? "listShut" : "formShut"];
  const set = (n: number) => { sizes.value = { ...sizes.peek(), [pane]: Math.round(Math.max(least, Math.min(most, innerWidth - 420, n))), [pane === "list" ? "listShut" : "formShut"]: false }; };
  const key = (e: KeyboardEvent) => {
    const step = e.key === "ArrowRight" ? 16 : e.key === "ArrowLeft" ? -16 : 0;
    if (!step) return;
    e.preventDefault();
    set(sizes.peek()[pane] + step);
  };
  return <div class="gutter" role="separator" aria-orientation="vertical" tabIndex={0} aria-label={t(label)} aria-valuenow={shut ? 0 : sizes.value[pane]} aria-valuemin={0} aria-valuemax={most} data-testid={"gutter-" + pane}
    onPointerDown={(e) => { e.currentTarget.setPointerCapture(e.pointerId); from.current = { x: e.clientX, size: shut ? 0 : sizes.peek()[pane] }; }}
    onPointerMove={(e) => { if (from.current) set(from.current.size + e.clientX - from.current.x); }}
    onPointerUp={() => { from.current = undefined; }} onPointerCancel={() => { from.current = undefined; }}
    onDblClick={() => set(usual[pane])} onKeyDown={key} />;
}
