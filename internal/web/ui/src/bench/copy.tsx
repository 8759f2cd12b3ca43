// Copies a call as a command line, as a program, or as it is sent over the
// wire.
import { get, path, type Bench, type CatalogPage, type ServerDetail } from "../api.ts";
import { commandLine } from "../cli.ts";
import { t, type Key } from "../i18n/index.ts";
import { useShortcuts } from "../keys.ts";
import { copyText, errorText, toast } from "../parts/basics.tsx";
import { Icon, type IconName } from "../parts/icons.tsx";
import { Menu } from "../parts/menu.tsx";
import { session } from "../state.ts";
import { snippet, type Language, type SnippetCall, type Way } from "./snippets.ts";

interface CopyProps { bench: Bench; method: SnippetCall["method"]; params: () => string }

/** Wanted is a connection to the server, and the name of the tool on it. */
interface Wanted { way: Way; name?: string }

/** wayOf returns how a program connects to the target of the Bench. Secrets are read from the environment. */
async function wayOf(bench: Bench, name: string | undefined, url: boolean): Promise<Wanted> {
  const target = bench.target;
  const endpoint = { url: session.value!.endpoint, headers: [] };
  const direct = target.via !== "gateway";
  if (target.url) return { way: { url: target.url, headers: Object.keys(target.headers ?? {}) }, name };
  if (target.command && !url) return { way: { command: target.command, args: target.args ?? [], env: Object.keys(target.env ?? {}) }, name };
  if (target.command) throw new Error(t("curlNeedsURL"));
  if (target.server && direct) {
    const { entry } = await get<ServerDetail>(path("servers", target.schema ?? "default", target.server));
    const e = (entry ?? {}) as { command?: string; args?: string[]; env?: object; url?: string; headers?: object };
    if (e.url) return { way: { url: e.url, headers: Object.keys(e.headers ?? {}) }, name };
    if (e.command && !url) return { way: { command: e.command, args: e.args ?? [], env: Object.keys(e.env ?? {}) }, name };
    const page = await get<CatalogPage>("catalog?schema=" + encodeURIComponent(target.schema ?? "default"));
    return { way: endpoint, name: page.rows.find((r) => r.server === target.server && r.own === name)?.listed ?? name };
  }
  return { way: endpoint, name };
}

async function copy(p: CopyProps, language: Language | "rpc" | "link" | "line"): Promise<void> {
  try {
    const json = p.params();
    const params = JSON.parse(json);
    let text = commandLine.peek();
    if (language === "rpc") text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: p.method, params }, null, 2);
    else if (language === "link") text = location.href;
    else if (language !== "line") {
      const { way, name } = await wayOf(p.bench, params.name, language === "curl");
      if (name && params.name) params.name = name;
      const written = name ? json.replace(/^\{"name":"(?:[^"\\]|\\.)*"/, () => `{"name":${JSON.stringify(name)}`) : json;
      text = snippet(language, way, { method: p.method, params, json: written, protocol: p.bench.info.protocol });
    }
    await copyText(text);
    toast(t("copiedAs"));
  } catch (e) { toast(errorText(e), undefined, "err"); }
}

const programs: { id: Language; icon: IconName; label: Key; with: string }[] = [
  { id: "curl", icon: "plug", label: "curl", with: "Streamable HTTP" }, { id: "typescript", icon: "file", label: "typescript", with: "SDK" },
  { id: "python", icon: "file", label: "python", with: "SDK" }, { id: "go", icon: "file", label: "golang", with: "SDK" },
];

export function CopyMenu(p: CopyProps) {
  useShortcuts([{ keys: "c", label: "copyAs", run: () => void copy(p, "line") }]);
  return <Menu class="button small" label={t("copyAs")} testid="copy-as" text={<><Icon name="copy" /><span class="lb">{t("copyAs")}</span><Icon name="down" /></>}>
    <h3>{t("thisCall")}</h3>
    <button type="button" onClick={() => void copy(p, "line")} data-testid="copy-line"><Icon name="log" />{t("asCommand")}<span class="end"><kbd>c</kbd></span></button>
    {programs.map((x) => <button type="button" key={x.id} data-testid={"copy-" + x.id} onClick={() => void copy(p, x.id)}><Icon name={x.icon} />{t(x.label)}<span class="end">{x.with}</span></button>)}
    <hr />
    <button type="button" onClick={() => void copy(p, "rpc")} data-testid="copy-rpc"><Icon name="copy" />{t("asRequest")}</button>
    <button type="button" onClick={() => void copy(p, "link")}><Icon name="out" />{t("asLink")}</button>
  </Menu>;
}
