// A sign-in to a server, request by request.
import { useEffect, useState } from "preact/hooks";
import { change, get, path } from "../api.ts";
import { bytes, ns } from "../format.ts";
import { said, t, type Key } from "../i18n/index.ts";
import { JsonView } from "../json/view.tsx";
import { servers } from "../live.ts";
import { Notice, Status, errorText } from "../parts/basics.tsx";
import { may } from "../state.ts";

export interface SignInStep { hop: "server" | "authority" | "browser" | "callback"; at: string; took?: number; method: string; url: string; status?: number; header?: Record<string, string>; body?: string; answer?: Record<string, string>; content?: string; error?: string }
interface SignInState { steps: SignInStep[]; done: boolean; message?: string; messageZH?: string }

/** nameOf returns a text that describes the purpose of a request. */
function nameOf(s: SignInStep): Key {
  if (s.hop === "server") return "stepChallenge";
  if (s.hop === "browser") return "stepBrowser";
  if (s.hop === "callback") return "stepCallback";
  if (s.url.includes("oauth-protected-resource")) return "stepResource";
  if (s.url.includes("/.well-known/")) return "stepAuthority";
  return s.body?.includes("grant_type=") ? "stepToken" : "stepRegister";
}

const way: Record<SignInStep["hop"], Key> = { server: "wayServer", authority: "wayAuthority", browser: "wayBrowser", callback: "wayCallback" };

/** SignIn is shown if the Bench cannot connect because a sign-in is needed. */
export function SignIn({ schema, server, onDone }: { schema: string; server: string; onDone: () => void }) {
  const [state, setState] = useState<SignInState>();
  const [address, setAddress] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  // Every step causes an event about the list of servers.
  useEffect(() => {
    if (!busy) return;
    void get<SignInState>(path("servers", schema, server, "signin")).then((s) => {
      setState(s);
      if (s.done) { setBusy(false); if (!s.message) onDone(); }
    }, (e) => setError(errorText(e)));
  }, [busy, servers.value]);
  const begin = async () => {
    setError(""); setAddress(""); setBusy(true);
    try { setAddress((await change<{ address: string }>("POST", path("servers", schema, server, "signin"))).address); } catch (e) { setError(errorText(e)); setBusy(false); }
  };
  return <section class="card sign-in" aria-label={t("signInSteps")} data-testid="sign-in">
    <h2>{t("signInSteps")}</h2><p class="mut">{t("signInHint")}</p>
    <div class="bar"><button type="button" class="button primary" disabled={busy || !may("admin")} onClick={() => void begin()}>{t("signIn")}</button>
      {address && busy && <a class="button" href={address} target="_blank" rel="noopener noreferrer">{t("openSignIn")}</a>}
      {busy && <Status tone="busy">{t(address ? "waitsForYou" : "asking")}</Status>}{state?.done && !state.message && <Status tone="ok">{t("signedIn")}</Status>}</div>
    {(error || state?.message) && <Notice tone="err">{error || said(state!.message, state!.messageZH)}</Notice>}
    <ol class="steps">{state?.steps.map((s, i) => <Step key={i} s={s} n={i + 1} />)}</ol>
  </section>;
}

function Step({ s, n }: { s: SignInStep; n: number }) {
  const bad = s.error || (s.status ?? 0) >= 400 && s.hop !== "server";
  const part = (text: string | undefined, label: string) => text ? <div class="json-box"><JsonView fit text={text} label={label} /></div> : null;
  const head = (h: Record<string, string> | undefined) => h && Object.keys(h).length > 0 ? <dl class="headers">{Object.entries(h).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v}</dd></div>)}</dl> : null;
  return <li data-testid="sign-in-step" data-step={nameOf(s)}><details><summary><span class="mut">{n}</span> <Status tone={bad ? "err" : "ok"}><b>{t(nameOf(s))}</b></Status> <span class="tag line">{t(way[s.hop])}</span>
    <span class="mut">{s.status ? `HTTP ${s.status}` : ""} {s.took ? ns(s.took) : ""} {s.content ? bytes(s.content.length) : ""}</span></summary>
    <p class="request-line"><code>{s.method} {s.url}</code></p>{head(s.header)}{s.body && (s.body.startsWith("{") ? part(s.body, t("request")) : <pre class="code text" tabIndex={0} role="group" aria-label={t("request")}>{s.body.replaceAll("&", "\n")}</pre>)}
    {s.error && <Notice tone="err">{s.error}</Notice>}{s.status ? <p class="request-line"><b>HTTP {s.status}</b></p> : null}{head(s.answer)}{part(s.content, t("response"))}</details></li>;
}
