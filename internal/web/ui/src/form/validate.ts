// Validates in the gateway, with the same code as the command line.
import { useEffect, useState } from "preact/hooks";
import { RawBody, change, type Problem } from "../api.ts";
import { parse } from "../json/exact.ts";
import { valueAt } from "./compile.ts";

/** A Finding is a problem of a value that may have changed since. */
export interface Finding extends Problem {
  /** absent is set if there was no value at the path. */
  absent: boolean;
}

/** useProblems validates a value shortly after its last change. */
export function useProblems(schema: string, value: string): Finding[] {
  const [problems, setProblems] = useState<Finding[]>([]);
  useEffect(() => {
    if (!schema) { setProblems([]); return; }
    let live = true;
    const timer = setTimeout(() => {
      validate(schema, value).then((p) => { if (live) setProblems(p); }, () => { if (live) setProblems([]); });
    }, 200);
    return () => { live = false; clearTimeout(timer); };
  }, [schema, value]);
  return problems;
}

/** judge validates at once, before sending. A schema that cannot be checked does not block sending. */
export async function judge(schema: string, value: string): Promise<boolean> {
  return !schema || (await validate(schema, value).catch(() => [])).length === 0;
}

/** validate sends both as text, so that no digit is lost. */
export async function validate(schema: string, value: string): Promise<Finding[]> {
  const { problems } = await change<{ problems: Problem[] }>("POST", "validate", new RawBody(`{"schema":${schema},"value":${value}}`));
  const judged = parse(value);
  return problems.map((p) => ({ ...p, absent: valueAt(judged, p.path) === undefined }));
}
