// How the state of a server is shown on all pages.
import type { Server } from "../api.ts";
import { said, t, type Key } from "../i18n/index.ts";
import type { Tone } from "../parts/basics.tsx";

const tones: Record<Server["state"], Tone> = { up: "ok", starting: "busy", down: "err", idle: "idle", disabled: "idle", pending: "warn", auth: "err" };

export const toneOf = (s: Server): Tone => tones[s.state];
export const stateName = (s: Server) => t(("state_" + s.state) as Key);
export const reasonOf = (s: Server) => said(s.reason, s.reasonZH) || (s.state !== "pending" && s.pending?.length ? t("pendingTools", s.pending.join(", ")) : stateName(s));

/** isOff reports whether a person has turned a server off. */
export const isOff = (s: Server) => s.state === "disabled";

/** upOf says how many of the servers are up, or start when they are used; those that are off are counted apart. */
export function upOf(list: Server[]): string {
  const up = list.filter((s) => s.state === "up" || s.state === "idle").length, off = list.filter(isOff).length, all = list.length - off;
  return t(all === 1 ? "upOfOne" : "upOf", up, all) + (off ? " · " + t("offN", off) : "");
}

/** needy reports whether a server needs an action of a person. */
export const needy = (s: Server) => s.state === "down" || s.state === "auth" || s.state === "pending" || !!s.pending?.length;
