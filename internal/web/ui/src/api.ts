// The JSON API that the page uses; /api/v1/openapi.json describes it.
import { lang, t } from "./i18n/index.ts";

export interface Server {
  /** replica is the replica that runs the server, if there are several. */
  replica?: string; schema: string; name: string;
  state: "up" | "starting" | "down" | "idle" | "disabled" | "pending" | "auth";
  reason?: string; reasonZH?: string; since?: string; transport: string; protocol?: string; title?: string; version?: string; pid?: number;
  tools: number; resources: number; prompts: number; restarts: number; pending?: string[];
  sandbox?: string;
}

export interface ServerDetail extends Server {
  entry: Record<string, unknown> | null; /** code of the scripts that are in files. */ code?: Record<string, string>; source?: string; handshake?: any; stderr?: string[]; withheld?: string[];
  accounts?: Account[]; changes?: Definition[]; lookalikes?: { tools: string[]; same: boolean }[];
  /** approval is what waits for approval: the whole entry, or the changes. Approving sends the hash back. */
  approval?: { entry?: string; hash: string };
}

/** Account is a sign-in to a server: of the gateway, or of one of its users. */
export interface Account { user?: string; issuer: string; scopes?: string[]; expires?: string; renews: boolean; revoked?: boolean }
export interface Pulse { took: number; certificate?: { subject: string; issuer: string; until: string } }

export interface Definition { kind: "tool" | "prompt" | "instructions"; name: string; user?: string; withheld: boolean; fingerprint: string; changes: { path: string; was?: string; now?: string }[]; suspicious?: { path: string; text: string }[] }

export interface Client {
  replica?: string;
  session: string; name?: string; version?: string; protocol?: string; transport: string; schema?: string;
  principal?: string; since?: string; seen?: string; calls: number; capabilities?: any;
}

export interface Call {
  replica?: string; id: number; kind: "call" | "notification"; hop: "client" | "server"; fromServer?: boolean; start: string;
  session?: string; client?: string; principal?: string; schema?: string; server?: string; method: string; name?: string;
  status: "pending" | "ok" | "error" | "tool_error" | "cancelled"; code?: number;
  total: number; gateway?: number; transport?: number; serverTime?: number;
  reqSize: number; resSize: number; parent?: number; notes?: string[]; notesZH?: string[]; bench?: boolean; reason?: string;
  /** said is the text of the answer: the message of an error, or the first text of a result. */
  said?: string;
}

export interface Line { id: number; time: string; server?: string; session?: string; source: string; level?: string; text: string }

export interface Stat {
  server: string; name?: string; calls: number; errors: number; reasons?: Record<string, number>;
  p50: number; p95: number; p99: number; perMinute?: number[]; errorsPerMinute?: number[];
}

export interface Step { ok: number; tool: number; err: number; p50?: number; p95?: number }
/** Uptime is the last day of a server: one letter per half-hour, u up, p partly up, x down, n not running. */
export interface Uptime { schema: string; name: string; strip: string; share?: number }
export interface Past { start: string; step: number; steps: Step[]; total: Step; /** before is the period before, if all of it was recorded. */ before?: Step; uptime: Uptime[] }

export interface UsageFigure { ok: number; tool: number; err: number; p50: number; p95: number; tokens: number; definitions: number }
export interface UsageRow extends UsageFigure { server?: string; kind?: "tool" | "prompt" | "resource" | "list"; name?: string; client?: string; principal?: string; last: string }
export interface Usage {
  on: boolean; since?: string; by: string; days: (UsageFigure & { day: string })[]; total: UsageFigure; rows: UsageRow[]; unreadable?: string[]; names?: Record<string, string>;
  unused?: { schema: string; server: string; name: string; tokens: number }[];
}

export interface Question {
  id: string; /** replica is where the question waits, in a cluster. */ replica?: string; kind: "sampling" | "elicitation" | "approval" | "host" | "share"; server?: string; client?: string; session?: string; run?: string; tool?: string;
  asked: string; deadline?: string; params: any;
  /** code is the script that makes the call. */
  code?: string;
}

/** Done is a question that no longer waits. outcome is late if the time for an answer was over, ended if its call or server ended first. */
export interface Done extends Question { outcome: "accept" | "decline" | "cancel" | "late" | "ended"; by?: string; ended: string }

export interface Root { uri: string; name?: string }

export interface Target {
  server?: string; schema?: string; via?: "direct" | "gateway"; as?: string;
  type?: string; command?: string; args?: string[]; env?: Record<string, string>; cwd?: string;
  url?: string; headers?: Record<string, string>;
  protocol?: string; clientName?: string; clientVersion?: string; offer?: string[]; roots?: Root[];
}

export interface BenchInfo {
  protocol: string; era: string; transport: string; handshake?: any; capabilities?: any; pid?: number; session?: string;
}

export interface Bench { id: string; target: Target; opened: string; info: BenchInfo; down?: string; downZH?: string; lines?: string[]; chaos?: Chaos }
export interface Chaos { delay?: number; error?: boolean; cut?: boolean }

export type RunStatus = "running" | "ok" | "tool_error" | "error" | "failed" | "cancelled" | "timeout";

export interface Run {
  id: string; bench?: string; target: string; method: string; name?: string; params?: any; start: string; status: RunStatus;
  message?: string; messageZH?: string; error?: any; total: number; gateway?: number; transport?: number; serverTime?: number;
  reqSize: number; resSize: number; trafficId?: number; kept: boolean; quiet?: boolean; chaos?: string;
}

export interface Frame { sent: boolean; at: number; status?: number; header?: Record<string, string>; body: string }
export interface Problem { path: string; message: string; messageZH: string }

export interface Setting {
  key: string; value: unknown; default?: unknown; source: string; restart?: boolean; /** waits is set if the gateway uses another value until it restarts. */ waits?: boolean; doc?: string; secret?: boolean; choices?: string[];
}

/** ConfigFile is the whole config file as JSON, without its secrets. */
export interface ConfigFile { path: string; text: string; mark: string }

export interface Cost { bytes: number; tokens: number }
export interface Fit { client: string; tools: number; maxTools?: number; maxName?: number; longNames?: number }
export interface CatalogRow {
  kind: "tool" | "prompt"; server: string; own: string; listed?: string; title?: string; description?: string; effect?: string;
  cost: Cost; on: boolean; /** ask is set if each call waits until a person allows it. */ ask?: boolean; issues?: { code: string; with?: string[] }[];
}
export interface CatalogPage {
  schema: string; schemas: string[]; mode: string; advice: { mode: string; why: string; whyZH: string }; list: { full: Cost; compact: Cost; search: Cost };
  fits: Fit[]; rows: CatalogRow[]; lens?: { session: string; client: string; mode: string; tools: number; shown: Cost; warnings: string[]; warningsZH: string[]; listed: string[] };
}

export interface Program { id: string; name: string; file: string; found: boolean; connected: boolean; undo: boolean; servers: string[]; dials: boolean; error?: string; errorZH?: string }
/** Importable is a server of another program; outcome says what importing it does. */
export interface Importable { program: string; name: string; run?: string; adds: boolean; outcome: string; notes?: string[]; mark: string }
export interface ConnectPlan { file: string; diff: string; mark: string; moving: string[]; snippet?: string; backup?: string }

/** Listed is a server in a registry. */
export interface Listed { name: string; version: string; kinds: string[] | null; status: string; registry: string; description: string; installed?: string; looksLike?: string }
export interface AddQuestion { id: string; kind: "env" | "header" | "arg"; description?: string; placeholder?: string; choices?: string[]; default?: string; required: boolean; secret: boolean; repeated: boolean; format?: string }
/** Offer is a server that can be added, with its questions. */
export interface Offer { id: string; name: string; head: string; way?: string; ways?: string[]; alarms?: string[]; questions: AddQuestion[]; unconfinable?: string }
/** Shown is exactly what would be written and run; adding sends the hash back. */
export interface Shown { rows: { kind: string; label: string; text: string }[]; entry: string; hash: string; missing?: string[] }
export interface Started { schema: string; name: string; state: string; tools: number; reason?: string; stderr?: string[]; notes?: string[] }

export interface Leg { name: string; ok: boolean; took: number; detail?: string; detailZH?: string }
export interface LintFinding { severity: string; rule: string; kind: string; item?: string; message: string; messageZH: string }
export interface Finding { schema?: string; name?: string; ok: boolean; what: string; detail?: string; fix?: string; command?: string; way?: Leg[]; lint?: LintFinding[] }

export interface TestResult { name: string; status: "passed" | "failed" | "skipped"; problems?: string[]; problemsZH?: string[]; took: number; updated?: boolean }
export interface SuiteRun { start: string; took: number; passed: number; failed: number; skipped: number; error?: string; errorZH?: string; results?: TestResult[] }
export interface Suite { name: string; path: string; target?: string; tests: number; evals?: number; error?: string; errorZH?: string; running?: TestResult[]; isRunning?: boolean; runs: SuiteRun[]; text?: string }

export interface Session { name: string; scope: "read" | "call" | "admin"; version: string; endpoint: string }

/** Unread is what a reload of the config file would change, or why the file cannot be read. */
export interface Unread { path: string; added: string[]; removed: string[]; changed: string[]; settings: string[]; error?: string; errorZH?: string }
export interface Overview { servers: Server[]; clients: Client[]; inbox: Question[]; stats: Stat[]; rev: number; unread?: Unread; replicas?: Replica[] }
/** Replica is a gateway of a cluster. error is set if the replica does not answer, differs if it has another configuration than this one. */
export interface Replica { name: string; self?: boolean; differs?: boolean; error?: string; errorZH?: string }
export interface Slice { text: string; offset: number; size: number; whole: boolean; found?: number[] }

export interface PartItem { key: string; kind: string; size: number; count?: number; value?: unknown }
export interface Part { path: string; kind: string; size: number; count?: number; offset?: number; items?: PartItem[]; value?: unknown; whole: boolean }

/** ApiError is an error response of the API. run is a command that waits for confirmation. */
export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, message: string, readonly run?: string, readonly lines?: string[]) {
    super(message);
  }
}

/** onLogin is called when the API reports that the page is not logged in. */
export const hooks = { onLogin: () => {} };

async function send(method: string, path: string, body?: string | Blob): Promise<Response> {
  // The language of the page, for texts that the gateway translates.
  const headers: Record<string, string> = { "Accept-Language": lang.value };
  if (method !== "GET") headers["X-MCP-AIO"] = "1";
  if (body !== undefined) headers["Content-Type"] = typeof body === "string" ? "application/json" : "application/octet-stream";
  let resp: Response;
  try {
    resp = await fetch("/api/v1/" + path, { method, headers, body, credentials: "same-origin" });
  } catch {
    throw new ApiError(0, "offline", t("noAnswer"));
  }
  if (resp.ok) return resp;
  const text = await resp.text();
  let e: any = {};
  try { e = JSON.parse(text); } catch { /* not ours: the status says enough */ }
  // The gateway has started again at another port, and answers here for a while.
  if (e.error?.code === "moved") { const to = new URL(location.href); to.port = new URL(resp.headers.get("location")!).port; location.replace(to); }
  if (resp.status === 401 && e.error?.code === "login") hooks.onLogin();
  throw new ApiError(resp.status, e.error?.code ?? "http", e.error?.message ?? `HTTP ${resp.status}`, e.error?.run, e.lines);
}

export async function get<T>(path: string): Promise<T> { return (await send("GET", path)).json(); }
export async function text(path: string): Promise<string> { return (await send("GET", path)).text(); }

/** change sends a value, or JSON text that must not be changed. */
export async function change<T = void>(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<T> {
  const resp = await send(method, path, body === undefined ? undefined : body instanceof RawBody ? body.json : JSON.stringify(body));
  return (resp.status === 204 ? undefined : await resp.json()) as T;
}

/** upload sends a file unchanged. */
export async function upload<T>(path: string, file: Blob): Promise<T> { return (await send("POST", path, file)).json(); }

/** RawBody is JSON text whose numbers must not be converted to JavaScript numbers. */
export class RawBody { constructor(readonly json: string) {} }

export const path = (...parts: (string | number)[]) => parts.map((p) => encodeURIComponent(p)).join("/");

/** at is a path read from another replica of the cluster; without a replica it is this gateway. */
export const at = (path: string, replica?: string) => (replica ? path + (path.includes("?") ? "&" : "?") + "replica=" + encodeURIComponent(replica) : path);
