// A virtual list of any length.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** tallest is the height above which the list is scaled, because browsers stop at about 33 million pixels. */
const tallest = 8_000_000;
const overscan = 6;
/** slots is the number of keys for the rows in view: elements are reused, not replaced. */
export const slots = 256;

export interface ListProps {
  count: number;
  height: number;
  label: string;
  row: (index: number, style: Record<string, string>) => ComponentChildren;
  class?: string;
  role?: "list" | "grid" | "listbox" | "group";
  /** selected is kept in view. */
  selected?: number;
  /** onMove is called by j, k and the arrows. */
  onMove?: (index: number) => void;
  onOpen?: (index: number) => void;
  onEnd?: () => void;
  /** onTop is called with whether the list is scrolled to its top. */
  onTop?: (is: boolean) => void;
  header?: ComponentChildren;
  testid?: string;
}

export function VirtualList(p: ListProps) {
  const ref = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [view, setView] = useState(600);
  useLayoutEffect(() => {
    const el = ref.current!;
    // The first report arrives before the first paint, without an extra layout.
    const o = new ResizeObserver(() => setView(el.clientHeight || 600));
    o.observe(el);
    return () => o.disconnect();
  }, []);
  const whole = p.count * p.height;
  const tall = Math.min(whole, tallest);
  const scale = tall > view && whole > tall ? (whole - view) / (tall - view) : 1;
  const virtualTop = top * scale;
  const first = Math.max(0, Math.floor(virtualTop / p.height) - overscan);
  const last = Math.min(p.count, Math.ceil((virtualTop + view) / p.height) + overscan);
  useEffect(() => {
    const el = ref.current!;
    if (p.selected === undefined || p.selected < 0) return;
    const y = p.selected * p.height;
    if (y < el.scrollTop * scale) el.scrollTop = y / scale;
    else if (y + p.height > el.scrollTop * scale + view) el.scrollTop = (y + p.height - view) / scale;
  }, [p.selected]);
  useEffect(() => { if (last >= p.count && p.count > 0) p.onEnd?.(); }, [last, p.count]);
  const key = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey || (e.target as Element).matches("input,textarea,select")) return;
    const at = p.selected ?? -1;
    if ((e.key === "j" || e.key === "ArrowDown") && p.onMove) p.onMove(Math.min(p.count - 1, at + 1));
    else if ((e.key === "k" || e.key === "ArrowUp") && p.onMove) p.onMove(Math.max(0, at - 1));
    else if (e.key === "Enter" && p.onOpen && at >= 0 && e.target === ref.current) p.onOpen(at);
    else return;
    e.preventDefault();
  };
  const rows = [];
  for (let i = first; i < last; i++) {
    rows.push(p.row(i, { transform: `translateY(${i * p.height - virtualTop + top}px)`, height: `${p.height}px` }));
  }
  return <div class={"vlist " + (p.class ?? "")} ref={ref} tabIndex={0} role={p.role ?? "group"} aria-label={p.label}
    aria-rowcount={p.role === "grid" ? p.count : undefined} onScroll={(e) => { const y = e.currentTarget.scrollTop; setTop(y); p.onTop?.(y < p.height); }} onKeyDown={key} data-testid={p.testid}>
    {p.header}
    <div class="vlist-rows" role={p.role === "grid" ? "rowgroup" : "presentation"} style={{ height: `${tall}px` }}>{rows}</div>
  </div>;
}
