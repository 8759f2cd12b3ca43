// All texts in Simplified Chinese.
import { addZh } from "./add_zh.ts";
import { benchZh } from "./bench_zh.ts";
import type { Key } from "./index.ts";
import { zh } from "./zh.ts";

export const chinese: Record<Key, string> = { ...zh, ...benchZh, ...addZh };
