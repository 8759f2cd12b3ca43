// The program that does the work: started here, spoken to over loopback.
import { spawn, type ChildProcess } from "node:child_process";
import { request as httpRequest, type IncomingMessage } from "node:http";

export interface Answer { status: number; type: string; body: string }

/** A Refusal is an answer that says no; run is a command that waits for a yes. */
export class Refusal extends Error {
  constructor(readonly status: number, message: string, readonly run?: string) { super(message); }
}

export class Gateway {
  private cookie = "";
  private constructor(private readonly child: ChildProcess, private readonly base: URL) {}

  /** start runs the program and logs in with the code that it prints. */
  static async start(binary: string, log: (line: string) => void): Promise<Gateway> {
    const child = spawn(binary, ["mcp-tester", "--print", "--port", "0"], { stdio: ["ignore", "pipe", "pipe"] });
    child.stderr!.setEncoding("utf8").on("data", (text: string) => text.trimEnd().split("\n").forEach(log));
    try {
      const address = new URL(await addressOf(child));
      const g = new Gateway(child, new URL(address.origin));
      await g.login(address.hash.replace("#code=", ""));
      return g;
    } catch (e) {
      child.kill();
      throw e;
    }
  }

  get alive(): boolean { return this.child.exitCode === null && this.child.signalCode === null; }

  stop(): void { this.child.kill(); }

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
    return { status: r.statusCode ?? 0, type: r.headers["content-type"] ?? "", body: await text(r) };
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
    this.open("GET", path).then((r) => {
      stream = r;
      if (stopped || r.statusCode !== 200) { r.destroy(); ended(); return; }
      r.setEncoding("utf8").on("data", on).on("close", ended).on("error", ended);
    }, ended);
    return () => { stopped = true; stream?.destroy(); };
  }
}

/** addressOf waits for the address with its one-time code. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = "";
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`the program ended with code ${code}`)));
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      got += text;
      const address = /^(https?:\/\/\S+#code=\S+)\n/m.exec(got)?.[1];
      if (address) resolve(address);
    });
  });
}

async function text(r: IncomingMessage): Promise<string> {
  let out = "";
  r.setEncoding("utf8");
  for await (const part of r) out += part;
  return out;
}
