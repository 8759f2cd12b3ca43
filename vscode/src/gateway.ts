// The program that does the work: one for all windows of a user, spoken to over
// loopback.
import { execFile } from "node:child_process";
import { request as httpRequest, type IncomingMessage } from "node:http";

export interface Answer { status: number; type: string; body: string }

/** A Refusal is an answer that says no; run is a command that waits for a yes. */
export class Refusal extends Error {
  constructor(readonly status: number, message: string, readonly run?: string) { super(message); }
}

/** Shared is what the program says of the tester in the background that all windows of a user have. */
interface Shared { url: string; log: string }

export class Gateway {
  private cookie = "";
  /** streams are the open event streams, by what ends them. */
  private readonly streams = new Set<() => void>();
  /** sessions are those that this window alone opened. */
  private readonly sessions = new Set<string>();
  alive = false;
  private constructor(private readonly base: URL, readonly log: string) {}

  /** join has the program find the tester, or start it, and logs in with the code that it prints. */
  static async join(binary: string): Promise<Gateway> {
    const shared = await ask(binary);
    const address = new URL(shared.url);
    const g = new Gateway(new URL(address.origin), shared.log);
    await g.login(address.hash.replace("#code=", ""));
    await g.stay();
    return g;
  }

  /** stay keeps a stream open: the tester ends when no window has one any more. */
  private stay(): Promise<void> {
    return new Promise((resolve, reject) => {
      const lost = (): void => { this.alive = false; reject(new Error("the tester has ended")); };
      this.events("/api/v1/events?topics=", () => { this.alive = true; resolve(); }, lost);
    });
  }

  /** stop leaves the tester, without the sessions of this window. */
  async stop(): Promise<void> {
    await Promise.allSettled([...this.sessions].map((id) => this.fetch("DELETE", `/api/v1/bench/${id}`)));
    for (const leave of this.streams) leave();
  }

  private async login(code: string): Promise<void> {
    const r = await this.open("POST", "/api/v1/login", JSON.stringify({ code }));
    await text(r);
    this.cookie = (r.headers["set-cookie"] ?? []).map((c) => c.split(";")[0]).join("; ");
    if (r.statusCode !== 200 || !this.cookie) throw new Error(`logging in: HTTP ${r.statusCode}`);
  }

  private open(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
    // Only the API: whatever runs in the tab cannot make us ask anything else.
    if (!path.startsWith("/api/v1/")) return Promise.reject(new Error(`${path} is not the API`));
    return new Promise((resolve, reject) => {
      const req = httpRequest(new URL(path, this.base), { method, headers: { ...headers, "X-MCP-AIO": "1", ...(this.cookie ? { Cookie: this.cookie } : {}), ...(body === undefined ? {} : { "Content-Type": "application/json" }) } }, resolve);
      req.on("error", reject);
      req.end(body);
    });
  }

  /** fetch asks the API as the page would. */
  async fetch(method: string, path: string, body?: string, lang = "en"): Promise<Answer> {
    const r = await this.open(method, path, body, { "Accept-Language": lang });
    const answer = { status: r.statusCode ?? 0, type: r.headers["content-type"] ?? "", body: await text(r) };
    if (method === "POST" && path === "/api/v1/bench" && answer.status < 300 && JSON.parse(body ?? "{}").fresh) this.sessions.add(JSON.parse(answer.body).id);
    return answer;
  }

  /** call is fetch for our own use: a value, or a Refusal. */
  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const a = await this.fetch(method, "/api/v1/" + path, body === undefined ? undefined : JSON.stringify(body));
    const value = a.body ? JSON.parse(a.body) : undefined;
    if (a.status >= 300) throw new Refusal(a.status, value?.error?.message ?? `HTTP ${a.status}`, value?.error?.run);
    return value as T;
  }

  /** events follows the event stream until the returned function is called. */
  events(path: string, on: (chunk: string) => void, ended: () => void): () => void {
    let stopped = false;
    let stream: IncomingMessage | undefined;
    const leave = (): void => { stopped = true; stream?.destroy(); };
    const over = (): void => { this.streams.delete(leave); ended(); };
    this.streams.add(leave);
    this.open("GET", path).then((r) => {
      stream = r;
      if (stopped || r.statusCode !== 200) { r.destroy(); over(); return; }
      r.setEncoding("utf8").on("data", on).on("close", over).on("error", over);
    }, over);
    return leave;
  }
}

/** ask runs the program, which says where the tester is, or why there is none. */
function ask(binary: string): Promise<Shared> {
  return new Promise((resolve, reject) => {
    execFile(binary, ["mcp-tester", "--shared", "--json"], { encoding: "utf8" }, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr.trim() || error.message));
      else resolve(JSON.parse(stdout) as Shared);
    });
  });
}

async function text(r: IncomingMessage): Promise<string> {
  let out = "";
  r.setEncoding("utf8");
  for await (const part of r) out += part;
  return out;
}
