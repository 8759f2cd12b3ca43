// Values that a server offers for an argument.
import { member } from "../json/members.ts";
import { ask } from "./session.ts";

export interface Ref { type: "ref/prompt" | "ref/resource"; name?: string; uri?: string }

/** complete asks for values. A server without completions is not an error. */
export async function complete(bench: string, ref: Ref, argument: string, value: string, given: Record<string, string>): Promise<string[]> {
  const { [argument]: _, ...others } = given;
  const params = { ref, argument: { name: argument, value }, ...(Object.keys(others).length ? { context: { arguments: others } } : {}) };
  try {
    const { text } = await ask(bench, "completion/complete", JSON.stringify(params));
    return JSON.parse(member(text, "completion") ?? "{}").values ?? [];
  } catch { return []; }
}
