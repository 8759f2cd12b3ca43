// Reads the result of a run after the run has ended.
import { useEffect, useState } from "preact/hooks";
import type { Run } from "../api.ts";
import { linesOf, partsOf, type Part } from "../json/lines.ts";
import { errorText } from "../parts/basics.tsx";
import { body } from "./session.ts";

export function useBody(run: Run | undefined): { text?: string; error?: string } {
  const [state, setState] = useState<{ id?: string; text?: string; error?: string }>({});
  useEffect(() => {
    if (!run || run.status === "running" || !run.kept) { setState({ id: run?.id }); return; }
    let live = true;
    body(run).then((text) => live && setState({ id: run.id, text }), (e) => live && setState({ id: run.id, error: errorText(e) }));
    return () => { live = false; };
  }, [run?.id, run?.status]);
  return state.id === run?.id ? state : {};
}

export interface Parts { structured?: string; content: any[]; messages?: any[]; contents?: any[]; description?: string }

/** resultParts scans the text once; large results are not parsed. */
export function resultParts(text: string): Parts {
  const lines = linesOf(text);
  const parts = lines ? partsOf(lines) : new Map<string, Part>();
  const cut = (key: string) => { const p = parts.get(key); return p && text.slice(p.start, p.end); };
  const list = (key: string): any[] | undefined => {
    try { const v = JSON.parse(cut(key) ?? "null"); return Array.isArray(v) ? v : undefined; } catch { return undefined; } // shown raw
  };
  const description = cut("description");
  return { structured: cut("structuredContent"), content: list("content") ?? [], messages: list("messages"), contents: list("contents"), description: description && safe(description) };
}

function safe(json: string): string | undefined { try { return String(JSON.parse(json)); } catch { return undefined; } }
