// The one server that commands talk about.
import { Gateway, Refusal } from "./gateway.ts";
import { targetOf, type SavedServer } from "./servers.ts";

interface Session { id: string; info: { protocol: string; transport: string } }
interface Run { id: string; status: string; message?: string; error?: { message: string } }
export interface Limits { timeout: () => number; attempts: () => number; delay: () => number }

export class Connection {
  private session?: Session;
  private name = "";

  constructor(private readonly gateway: () => Promise<Gateway>, private readonly limits: Limits, private readonly tell: (state: string) => void) { tell("未连接"); }

  /** screen is where the tab goes: the session, or the choice of one. */
  screen(): string { return this.session ? `/ui/bench/@${this.session.id}` : "/ui/bench"; }

  describe(): string { return this.session ? `已连接 ${this.name} · ${this.session.info.transport} · ${this.session.info.protocol}` : "未连接"; }

  async connect(s: SavedServer, agreed: (run: string) => Promise<boolean>): Promise<void> {
    this.tell("连接中");
    try {
      const session = await this.open(s, agreed);
      if (!session) { this.tell(this.session ? "已连接" : "未连接"); return; }
      await this.disconnect();
      [this.session, this.name] = [session, s.name];
      this.tell("已连接");
    } catch (e) {
      this.tell("错误");
      throw e;
    }
  }

  /** open tries as often as the settings say; a command runs after a yes. */
  private async open(s: SavedServer, agreed: (run: string) => Promise<boolean>): Promise<Session | undefined> {
    const g = await this.gateway();
    let confirm = "";
    for (let failed = 0; ;) {
      try { return await g.call<Session>("POST", "bench", { target: targetOf(s), fresh: true, confirm }); } catch (e) {
        if (e instanceof Refusal && e.run && !confirm) {
          if (!await agreed(e.run)) return undefined;
          confirm = e.run;
        } else if (!(e instanceof Refusal) || e.status !== 502 || failed++ >= this.limits.attempts()) {
          throw e;
        } else {
          await new Promise((resolve) => setTimeout(resolve, this.limits.delay()));
        }
      }
    }
  }

  async disconnect(): Promise<void> {
    const old = this.session;
    this.session = undefined;
    this.tell("未连接");
    if (old) await (await this.gateway()).call("DELETE", `bench/${old.id}`).catch(() => undefined);
  }

  private get id(): string {
    if (!this.session) throw new Error("未连接: run “MCP Tester: Connect to a server” first.");
    return this.session.id;
  }

  async list(kind: string): Promise<any[]> { return (await (await this.gateway()).call<{ items: any[] }>("GET", `bench/${this.id}/list/${kind}?fresh=1`)).items; }

  async ping(): Promise<void> {
    const g = await this.gateway();
    const timeout = this.limits.timeout();
    let run = await g.call<Run>("POST", `bench/${this.id}/calls`, { method: "ping", idle: timeout, limit: timeout });
    while (run.status === "running") {
      await new Promise((resolve) => setTimeout(resolve, 50));
      run = await g.call<Run>("GET", `runs/${run.id}`);
    }
    if (run.status !== "ok") throw new Error(`Ping 失败: ${run.error?.message ?? run.message ?? run.status}`);
  }
}
