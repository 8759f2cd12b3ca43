// The time of a client's last request.
import type { Client } from "../api.ts";
import { age } from "../format.ts";
import { t } from "../i18n/index.ts";
import { seenAt } from "../live.ts";
import { now } from "../parts/basics.tsx";

/** quiet is how long a client may be silent and still count as connected. */
const quiet = 5 * 60_000;
export const seen = (c: Client) => Math.max(seenAt.get(c.session) ?? 0, Date.parse(c.seen ?? c.since ?? "") || 0);
export const isQuiet = (c: Client) => now.value - seen(c) > quiet;
export const seenText = (c: Client) => (now.value - seen(c) < 10_000 ? t("now") : age(new Date(seen(c)).toISOString(), now.value));
