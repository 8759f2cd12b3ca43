// What a tab shows, and the other end of its bridge.
import type { Gateway } from "./gateway.ts";

/** html is the page of a tab; uri makes an address of a file of this extension. */
export function html(uri: (file: string) => string, csp: string, start: string): string {
  const policy = `default-src 'none'; script-src ${csp}; style-src ${csp}; img-src ${csp} data: blob:; media-src data: blob:; font-src ${csp}`;
  return `<!doctype html>
<html lang="en" data-start="${escaped(start)}">
<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>MCP Tester</title>
<link rel="stylesheet" href="${uri("page/assets/style.css")}">
<script src="${uri("page/bridge.js")}"></script><script type="module" src="${uri("page/assets/app.js")}"></script></head>
<body><div id="app"></div></body></html>`;
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** openSettings is the command that shows the settings of the machine where the program runs. */
export const openSettings = (remote: boolean): string => remote ? "workbench.action.openRemoteSettings" : "workbench.action.openSettings";

/** failure is the page of a tab whose program does not run. */
export function failure(why: string, settings: string, again: string, remote: boolean): string {
  const setting = "mcp-tester.binary";
  const command = `${openSettings(remote)}?${encodeURIComponent(JSON.stringify([remote ? { query: setting } : setting]))}`;
  return `<!doctype html>
<html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><title>MCP Tester</title></head>
<body><h2>MCP Tester</h2><p role="alert">${escaped(why)}</p>
<p><a href="command:${escaped(command)}">${escaped(settings)}</a> · <a href="command:mcp-tester.open">${escaped(again)}</a></p></body></html>`;
}

/** serve answers a tab's messages; what it returns ends its streams. */
export function serve(gateway: () => Promise<Gateway>, post: (m: unknown) => void): { take: (m: any) => Promise<void>; end: () => void } {
  const streams = new Map<number, () => void>();
  const take = async (m: any): Promise<void> => {
    switch (m.type) {
      case "fetch":
        try {
          const a = await (await gateway()).fetch(m.method, m.path, m.body, m.lang);
          post({ type: "answer", id: m.id, status: a.status, contentType: a.type, body: a.body });
        } catch (e) {
          post({ type: "answer", id: m.id, status: 502, contentType: "application/json", body: JSON.stringify({ error: { code: "offline", message: String(e) } }) });
        }
        return;
      case "events":
        streams.set(m.id, (await gateway()).events(m.path, (text) => post({ type: "chunk", id: m.id, text }), () => post({ type: "end", id: m.id })));
        return;
      case "close":
        streams.get(m.id)?.();
        streams.delete(m.id);
    }
  };
  return { take, end: () => streams.forEach((stop) => stop()) };
}
