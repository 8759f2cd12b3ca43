// The title row of a page, and the placeholder while a page loads.
import type { ComponentChildren } from "preact";
import { t } from "../i18n/index.ts";
import { paletteOpen } from "../state.ts";
import { IconButton } from "./basics.tsx";

/** Head shows the page's title, one line that answers its question, and its actions. */
export function Head(p: { title: ComponentChildren; what?: ComponentChildren; children?: ComponentChildren; hidden?: boolean }) {
  return <div class="head"><h1>{p.title}</h1>{p.what && <span class="what">{p.what}</span>}
    <span class="do"><span class="m-only"><IconButton icon="search" label={t("paletteTitle")} onClick={() => { paletteOpen.value = true; }} /></span>{p.children}</span></div>;
}

/** Skeleton has the layout of the page that loads; it appears after 150 ms. */
export function Skeleton({ cards = ["c8", "c4", "c8", "c4"], rows = 5 }: { cards?: string[]; rows?: number }) {
  return <div class="skeleton cols" data-testid="skeleton" role="status" aria-label={t("connectingShort")}>
    {cards.map((c, i) => <section class={"card " + c} key={i}>
      <span class="sk" style={{ width: "30%", margin: "6px 0 24px" }} />
      {Array.from({ length: rows }, (_, j) => <span class="sk" key={j} style={{ width: `${92 - ((i * 31 + j * 17) % 40)}%`, marginBottom: "22px" }} />)}
    </section>)}
  </div>;
}
