import { render } from "preact";
import { effect, signal } from "@preact/signals";
import { change, get, hooks, ApiError, type Session } from "./api.ts";
import { lang, ready, t } from "./i18n/index.ts";
import { refresh, startLive } from "./live.ts";
import { startRouter } from "./router.ts";
import { Shell } from "./shell.tsx";
import { session } from "./state.ts";

/** why is the reason why the page is not logged in. */
const why = signal<"" | "login" | "code" | "offline">("");

async function boot(): Promise<void> {
  const code = /[#&]code=([\w-]+)/.exec(location.hash)?.[1];
  if (code) {
    // Remove the code from the address bar first.
    history.replaceState(null, "", location.pathname + location.search);
    try {
      session.value = await change<Session>("POST", "login", { code });
    } catch (e) {
      // If the page is already logged in, it does not need the code.
      if (!(e instanceof ApiError) || e.status !== 401) { why.value = "offline"; return; }
      why.value = "code";
    }
  }
  try {
    session.value ??= await get<Session>("session");
  } catch (e) {
    why.value ||= e instanceof ApiError && e.status === 401 ? "login" : "offline";
    return;
  }
  why.value = "";
  await refresh();
  startLive();
}

function Page() {
  if (session.value) return <Shell />;
  if (!why.value) return null;
  return <main class="login">
    <h1>mcp-all-in-one</h1>
    <p role="alert">{t(why.value === "code" ? "loginCode" : why.value === "offline" ? "noAnswer" : "loginText")}</p>
    {why.value !== "offline" && <p><code>mcp-all-in-one ui</code></p>}
  </main>;
}

hooks.onLogin = () => { session.value = undefined; why.value ||= "login"; };
effect(() => { document.documentElement.lang = lang.value; });
startRouter();
void ready.then(() => render(<Page />, document.getElementById("app")!));
void boot();
