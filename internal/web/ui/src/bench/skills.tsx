// A skill: its description, its files, and whether the files match their
// digests.
import { useEffect, useState } from "preact/hooks";
import type { Bench } from "../api.ts";
import { command, commandLine } from "../cli.ts";
import { bytes } from "../format.ts";
import { t } from "../i18n/index.ts";
import { Notice, Status, errorText, toast } from "../parts/basics.tsx";
import { may } from "../state.ts";
import type { Item } from "./list.tsx";
import { Gutter } from "./panes.tsx";
import { ResultPane } from "./result.tsx";
import { body, finished, runs, start } from "./session.ts";

export const skillsExtension = "io.modelcontextprotocol/skills";

interface SkillFile { uri: string; digest?: string; size?: number }
export const nameOfSkill = (s: Item) => String(s.frontmatter?.name ?? s.name ?? s.uri);

/** digestOf computes the digest of a file from the result of resources/read. */
async function digestOf(result: string): Promise<string> {
  const c = (JSON.parse(result).contents ?? [])[0] ?? {};
  const data = c.blob !== undefined ? Uint8Array.from(atob(c.blob), (x) => x.charCodeAt(0)) : new TextEncoder().encode(c.text ?? "");
  return "sha256:" + [...new Uint8Array(await crypto.subtle.digest("SHA-256", data))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

export function SkillPane({ bench, skill, target }: { bench: Bench; skill: Item; target: string }) {
  const files: SkillFile[] = skill.resources ?? [{ uri: skill.uri }];
  const [runId, setRunId] = useState("");
  const [shown, setShown] = useState("");
  const [found, setFound] = useState<Record<string, string>>({});
  const read = async (f: SkillFile) => {
    setShown(f.uri);
    commandLine.value = command("read", target, f.uri);
    try {
      const run = await start(bench.id, "resources/read", JSON.stringify({ uri: f.uri }));
      setRunId(run.id);
      const done = await finished(run);
      // Over plain http from another host, browsers provide no digests; then the declared digest is shown.
      if (done.status === "ok" && crypto.subtle) { const digest = await digestOf(await body(done)); setFound((x) => ({ ...x, [f.uri]: digest })); }
    } catch (e) { toast(errorText(e), undefined, "err"); }
  };
  useEffect(() => { if (files[0] && may("call")) void read(files[0]); }, [skill.uri]);
  const other = Object.entries(skill.frontmatter ?? {}).filter(([k]) => k !== "name" && k !== "description");
  const wrong = files.filter((f) => f.digest && found[f.uri] && found[f.uri] !== f.digest);
  return <>
    <section class="pane form-pane" aria-label={nameOfSkill(skill)}>
      <div class="pb"><h2><code>{nameOfSkill(skill)}</code></h2><span class="mut nowrap">{t("filesN", files.length)}</span></div>
      <div class="pscroll">
        {skill.frontmatter?.description && <p class="description">{String(skill.frontmatter.description)}</p>}
        {other.length > 0 && <dl class="facts">{other.map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{typeof v === "string" ? v : JSON.stringify(v)}</dd></div>)}</dl>}
        <p class="pad"><code>{skill.uri}</code></p>
        {wrong.length > 0 && <Notice tone="err">{t("digestWrong", wrong.map((f) => f.uri).join(", "))}</Notice>}
        <section class="runs files" aria-label={t("files")}><h2>{t("files")}</h2><ol data-testid="skill-files">{files.map((f) => <li key={f.uri} class="skill-file" aria-current={f.uri === shown ? "true" : undefined} onClick={() => void read(f)}>
          <button type="button" class="plain-button cut" disabled={!may("call")} onClick={(e) => { e.stopPropagation(); void read(f); }}><code>{f.uri.replace(/^skill:\/\//, "")}</code></button>
          <span class="r mut">{f.size === undefined ? "" : bytes(f.size)}</span>
          <Digest f={f} found={found[f.uri]} /></li>)}</ol></section>
      </div>
    </section>
    <Gutter pane="form" label="resizeForm" />
    <ResultPane run={runs.value.get(runId)} bench={bench} target={target} empty={t("notRead")} />
  </>;
}

function Digest({ f, found }: { f: SkillFile; found?: string }) {
  const short = (d: string) => d.replace(/^(\w+:)?(\w{12}).*$/, "$1$2…");
  if (!f.digest) return <span class="mut digest">{t("noDigest")}</span>;
  return <span class="digest" title={f.digest} data-testid="digest"><Status tone={!found ? "idle" : found === f.digest ? "ok" : "err"} state={!found ? "unread" : found === f.digest ? "same" : "other"}><code>{short(f.digest)}</code></Status></span>;
}
