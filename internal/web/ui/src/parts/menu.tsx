// A button with a list of actions. The list is in the browser's top layer, so
// that no frame clips it.
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";

interface MenuProps { label: string; icon?: IconName; children: ComponentChildren; class?: string; text?: ComponentChildren; testid?: string; disabled?: boolean }

export function Menu(p: MenuProps) {
  const button = useRef<HTMLButtonElement>(null), box = useRef<HTMLDivElement>(null);
  const id = useId();
  const place = () => {
    const at = button.current!.getBoundingClientRect(), own = box.current!;
    const below = at.bottom + 4 + own.offsetHeight <= innerHeight || at.top < own.offsetHeight;
    own.style.top = `${below ? at.bottom + 4 : at.top - own.offsetHeight - 4}px`;
    own.style.left = `${Math.max(8, Math.min(at.right - own.offsetWidth, innerWidth - own.offsetWidth - 8))}px`;
  };
  const shown = (e: Event) => {
    if ((e as ToggleEvent).newState !== "open") return;
    place();
    box.current!.querySelector<HTMLElement>("button:not(:disabled), a")?.focus();
  };
  const key = (e: KeyboardEvent) => {
    const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    if (!step) return;
    e.preventDefault();
    const list = [...box.current!.querySelectorAll<HTMLElement>("button:not(:disabled), a")];
    list[(list.indexOf(document.activeElement as HTMLElement) + step + list.length) % list.length]?.focus();
  };
  return <span class="menu-box" onClick={(e) => e.stopPropagation()}>
    <button type="button" ref={button} class={p.class ?? "icon-button"} aria-label={p.text ? undefined : p.label} title={p.text ? undefined : p.label} disabled={p.disabled} popovertarget={id} data-testid={p.testid}>{p.text}{p.icon && <Icon name={p.icon} />}</button>
    <div id={id} ref={box} popover="auto" class="pop" role="group" aria-label={p.label} onToggle={shown} onKeyDown={key}
      onClick={(e) => { if ((e.target as Element).closest("button, a")) box.current!.hidePopover(); }}>{p.children}</div>
  </span>;
}
