// Content blocks of tools, prompts, sampling and resources.
import { useMemo, useState } from "preact/hooks";
import { bytes } from "../format.ts";
import { t } from "../i18n/index.ts";
import { indexLines } from "../json/lines.ts";
import { JsonView, TextView } from "../json/view.tsx";
import { Markdown, looksLikeMarkdown } from "./markdown.tsx";

export function Blocks({ content, onLink }: { content: any[]; onLink?: (uri: string) => void }) {
  return <div class="blocks">{content.map((b, i) => <Block key={i} b={b ?? {}} onLink={onLink} />)}</div>;
}

function Block({ b, onLink }: { b: any; onLink?: (uri: string) => void }) {
  switch (b.type) {
    case "text": return <TextBlock text={String(b.text ?? "")} mime={b.mimeType} />;
    case "image": return <Media kind="image" mime={b.mimeType} data={b.data} />;
    case "audio": return <Media kind="audio" mime={b.mimeType} data={b.data} />;
    case "resource_link": return <p class="block-link"><span class="tag">{b.mimeType ?? "link"}</span> {onLink ? <button type="button" class="link" onClick={() => onLink(b.uri)}>{b.title ?? b.name ?? b.uri}</button> : b.title ?? b.name} <code class="mut">{b.uri}</code> <span class="mut">{b.description}</span></p>;
    case "resource": return <ResourceContents c={b.resource ?? {}} />;
    default: return <div class="json-box"><JsonView fit text={JSON.stringify(b)} label={String(b.type)} /></div>;
  }
}

export function ResourceContents({ c }: { c: any }) {
  return <section class="block-resource"><div class="bar"><code>{c.uri}</code><span class="tag">{c.mimeType}</span></div>
    {c.text !== undefined ? <TextBlock text={String(c.text)} mime={c.mimeType} /> : c.blob !== undefined ? <Media kind={mediaOf(c.mimeType)} mime={c.mimeType} data={c.blob} /> : null}</section>;
}

const mediaOf = (mime = ""): "image" | "audio" | "file" => (mime.startsWith("image/") ? "image" : mime.startsWith("audio/") ? "audio" : "file");

type Look = "json" | "markdown" | "text";

function TextBlock({ text, mime }: { text: string; mime?: string }) {
  const json = useMemo(() => /^\s*[[{]/.test(text) && indexLines(text) !== undefined, [text]);
  const [look, setLook] = useState<Look>(json ? "json" : mime === "text/markdown" || looksLikeMarkdown(text) ? "markdown" : "text");
  const looks: Look[] = json ? ["json", "text"] : ["markdown", "text"];
  return <div class={"block-text " + look}>
    <div class="looks" role="group" aria-label={t("view")}>{looks.map((l) => <button type="button" key={l} aria-pressed={l === look} onClick={() => setLook(l)}>{l}</button>)}<span class="mut">{bytes(text.length)}</span></div>
    {look === "json" ? <div class="json-box"><JsonView fit text={text} label={t("content")} /></div> : look === "markdown" ? <Markdown text={text} /> : <TextView text={text} label={t("content")} />}
  </div>;
}

/** safeMime prevents a server from choosing a type that a browser would run. */
const safeMime = (kind: string, mime = "") => (/^(image\/(png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+)$/.test(mime) ? mime : kind === "audio" ? "audio/wav" : "image/png");

function Media({ kind, mime, data }: { kind: "image" | "audio" | "file"; mime?: string; data?: string }) {
  if (!data) return <p class="mut">{t("noBody")}</p>;
  const size = bytes(Math.floor(data.length * 0.75));
  const url = `data:${kind === "file" ? "application/octet-stream" : safeMime(kind, mime)};base64,${data}`;
  return <figure class="media">
    {kind === "image" && <img src={url} alt={t("imageAlt", mime ?? "")} />}
    {kind === "audio" && <audio controls src={url} aria-label={mime} />}
    <figcaption class="mut">{mime} · {size} <a href={url} download={"content." + (mime?.split("/")[1] ?? "bin")}>{t("download")}</a></figcaption>
  </figure>;
}
