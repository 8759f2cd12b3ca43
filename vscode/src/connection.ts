// The one server that commands talk about.
import { Gateway, Refusal } from "./gateway.ts";
import { targetOf, type SavedServer } from "./servers.ts";

interface Session { id: string; info: { protocol: string; transport: string; handshake?: { serverInfo?: { name?: string; title?: string } } } }
interface Run { id: string; status: string; message?: string; error?: { message: string } }
export interface Limits { timeout: () => number; attempts: () => number; delay: () => number }
/** Say is a text in the language of the window. */
export type Say = (english: string, chinese: string) => string;

export class Connection {
  private session?: Session;
  private name = "";

  constructor(private readonly gateway: () => Promise<Gateway>, private readonly limits: Limits, private readonly say: Say, private readonly tell: (state: string) => void) { tell(this.off); }

  private get off(): string { return this.say("not connected", "未连接"); }
  private get on(): string { return this.say("connected", "已连接"); }

  /** screen is where the tab goes: the session, or the choice of one. */
  screen(): string { return this.session ? `/ui/bench/@${this.session.id}` : "/ui/bench"; }

  describe(): string { return this.session ? `${this.on} ${this.name} · ${this.session.info.transport} · ${this.session.info.protocol}` : this.off; }

  async connect(s: SavedServer, agreed: (run: string) => Promise<boolean>): Promise<void> {
    this.tell(this.say("connecting", "连接中"));
    try {
      const session = await this.open(s, agreed);
      if (!session) { this.tell(this.session ? this.on : this.off); return; }
      await this.disconnect();
      const info = session.info.handshake?.serverInfo;
      [this.session, this.name] = [session, info?.title || info?.name || s.name];
      this.tell(this.on);
    } catch (e) {
      this.tell(this.say("error", "错误"));
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
    this.tell(this.off);
    if (old) await (await this.gateway()).call("DELETE", `bench/${old.id}`).catch(() => undefined);
  }

  private get id(): string {
    if (!this.session) throw new Error(this.say("Not connected: run “MCP Tester: Connect to a server” first.", "未连接：请先运行“MCP Tester: Connect to a server”。"));
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
    if (run.status !== "ok") throw new Error(this.say("Ping failed: ", "Ping 失败: ") + (run.error?.message ?? run.message ?? run.status));
  }
}
