// Features that the tester has listed, for the palette.
import { signal } from "@preact/signals";

export interface Known { target: string; kind: "tools" | "resources" | "prompts"; name: string }
export const known = signal<Known[]>([]);

export function learn(target: string, kind: Known["kind"], names: string[]): void {
  known.value = [...known.value.filter((k) => k.target !== target || k.kind !== kind), ...names.map((name) => ({ target, kind, name }))];
}
