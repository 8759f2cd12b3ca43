// Pictures for the documentation; UPDATE=1 writes them to docs/screenshots (make screenshots). SCREENS=FOLDER
// writes every page in every look into a folder, to be looked at; PAGES names the pages if not all are wanted.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { cluster, configured, gateway } from "./gateway.mjs";
import { api, base, connect, done, newPage, result, suite, toolName, visit } from "./lib.mjs";

suite();
const folder = process.env.SCREENS ? process.env.SCREENS + "/" : new URL("../../docs/screenshots/", import.meta.url).pathname;
const write = !!(process.env.UPDATE || process.env.SCREENS);

// A client's file and a test file, so that there is something to see.
before(() => {
  mkdirSync(join(process.env.HOME, ".cursor"), { recursive: true });
  writeFileSync(join(process.env.HOME, ".cursor", "mcp.json"), '{\n  "mcpServers": {\n    "github": {\n      "command": "npx",\n      "args": ["-y", "@modelcontextprotocol/server-github"]\n    }\n  }\n}\n');
  const folder = join(dirname(process.env.CONSOLE_CONFIG), "mcp-tests");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "demo.yaml"), "target: demo\ntests:\n  - name: adds\n    call: add\n    args: { a: 1, b: 2 }\n    expect: { jq: '.sum == 3' }\n  - name: echoes\n    call: echo\n    args: { message: hi }\n    expect: { contains: hi }\n");
});

// Clients that work with the gateway, so that there is something to see.
before(async () => {
  for (const client of ["claude-code", "cursor"]) {
    const call = await connect(client);
    for (const server of ["demo", "modern"]) {
      for (const [tool, args] of [["echo", { message: "hello" }], ["add", { a: 1, b: 2 }], ["long_task", { seconds: 0.3, steps: 3 }], ["fail", {}], ["get_image", {}]]) {
        await call("tools/call", { name: await toolName(call, tool, server), arguments: args });
      }
    }
  }
});

// What they called on the days before, in the files of the gateway.
before(() => {
  const folder = join(process.env.XDG_STATE_HOME || join(process.env.HOME, ".local", "state"), "mcp-all-in-one", "usage");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (let ago = 1; ago < 30; ago++) {
    const at = new Date();
    at.setDate(at.getDate() - ago);
    const day = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((n) => String(n).padStart(2, "0")).join("-");
    const busy = [0.3, 1, 1.2, 1.1, 1.3, 0.9, 0.2][at.getDay()];
    const rows = ["claude-code", "cursor"].flatMap((client, c) => [["echo", 90, 12], ["add", 60, 14], ["long_task", 14, 27], ["fail", 3, 10]].map(([tool, calls, took]) => {
      const n = Math.round(calls * busy * (2 - c)), bad = tool === "fail" ? n : Math.round(n / 40);
      return ["anonymous", client, "session", "default", "demo", "tool", tool, n, 0, bad, n * 120, n * 900, took, `${n - bad} ${bad}`].join("\t");
    }));
    rows.push(["anonymous", "cursor", "session", "default", "", "list", "", 4, 0, 0, 200, 46000, 12, "4"].join("\t"));
    writeFileSync(join(folder, day + ".tsv"), ["# usage 1: principal client door schema server kind name calls errors toolErrors sent got first took", ...rows, `# rows ${rows.length}`, ""].join("\n"), { mode: 0o600 });
  }
});

// Gateways for pages that the first one does not have.
const others = {};
after(async () => { for (const gw of Object.values(others)) await (await gw).end(); });
const demo = () => ({ command: process.env.PROMPTS_COMMAND.split(" ")[0], args: ["-role", "demo"] });

async function shoot(page, name) {
  await page.mouse.move(0, 0);
  const picture = { path: write ? `${folder}${name}.png` : undefined };
  if (picture.path) mkdirSync(folder, { recursive: true });
  // The port and the folders differ from run to run.
  const names = [[page.at, "http://127.0.0.1:3095"], [new URL(page.at).host, "127.0.0.1:3095"], [page.home ?? process.env.HOME, "/home/ada"], [process.env.HOME, "/home/ada"], [dirname(process.env.CONSOLE_CONFIG), "/home/ada/.config/mcp-all-in-one"], [dirname(dirname(process.env.CONSOLE_CONFIG)), "/home/ada"], [process.env.PROGRAM, "/usr/local/bin/mcp-all-in-one"], [process.env.PROMPTS_COMMAND.split(" ")[0], "/usr/local/bin/demo-server"]];
  const { port } = new URL(page.at);
  await page.evaluate(([names, port]) => {
    for (const e of document.querySelectorAll("[placeholder]")) e.placeholder = e.placeholder.replaceAll(port, "3095");
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) for (const [from, to] of names) texts.currentNode.data = texts.currentNode.data.replaceAll(from, to);
  }, [names, port]);
  assert.equal(await page.locator(`[placeholder*="${port}"]`).count(), 0);
  await page.screenshot(picture);
}

const dark = { dark: true }, zh = { lang: "zh-CN", dark: true }, phone = { width: 390, height: 800 }, wide = { width: 1440, height: 960 };
/** documented are the pictures of the documentation: name, page, look. */
const documented = [
  ["overview", "overview", { width: 1440, height: 1180 }],
  ["overview-dark-zh", "overview", zh],
  ["servers", "servers", {}],
  ["add", "add", {}],
  ["add-dark-zh", "add", zh],
  ["server-dark", "server", { ...wide, ...dark }],
  ["catalog", "catalog", wide],
  ["clients", "clients", {}],
  ["tests", "tests", {}],
  ["doctor", "doctor", {}],
  ["traffic", "traffic", wide],
  ["usage", "usage", wide],
  ["inbox", "inbox", {}],
  ["settings", "settings", {}],
  ["palette-dark", "palette", dark],
  ["bench-dark-zh", "bench", zh],
  ["bench", "bench", {}],
  ["script", "script", {}],
  ["phone", "overview", phone],
  ["phone-traffic", "traffic", phone],
  ["phone-add", "add", phone],
  ["first-run", "first", {}],
  ["scripts", "scripts", {}],
  ["replicas", "replicas", wide],
  ["skills", "skills", {}],
];

/** pages are where a picture is taken, and what is done there before. */
const pages = {
  first: {
    at: () => {
      const home = mkdtempSync(join(tmpdir(), "first-"));
      mkdirSync(join(home, ".cursor"));
      writeFileSync(join(home, ".cursor", "mcp.json"), '{"mcpServers":{"github":{"command":"npx"},"memory":{"command":"npx"}}}');
      return gateway({ home });
    },
    path: "overview", ready: (page) => page.getByTestId("first-run").getByText("Cursor").first().waitFor(),
  },
  scripts: {
    at: async () => {
      const gw = await gateway(configured({ mcpServers: { demo: demo(), reports: { scripts: {
        sum: { description: "The sum of a list of numbers, added one by one.", readOnly: true, arguments: { type: "object", properties: { numbers: { type: "array", items: { type: "number" } } }, required: ["numbers"] },
          code: "let sum = 0\nfor (const n of args.numbers) {\n  sum = (await tools.demo.add({a: sum, b: n})).sum\n}\nreturn sum" },
        hello: { description: "Says hello to who calls it.", code: "return (await tools.demo.echo({message: 'hello'}))" },
      } } } }));
      const page = await gw.open();
      const { body } = await api(page, "GET", "servers/default/reports");
      await api(page, "POST", "servers/default/reports/approve", { hash: body.approval.hash });
      await page.context().close();
      return gw;
    },
    path: "servers/default/reports?tab=scripts", ready: (page) => page.getByTestId("script-sum").locator("pre").first().waitFor(),
  },
  replicas: {
    at: async () => {
      const nodes = await cluster({ north: { tracker: demo() }, south: { tracker: demo(), notes: demo() } });
      for (const [client, node] of [["cursor", nodes.north], ["claude-code", nodes.south]]) {
        const call = await connect(client, {}, node.url);
        for (const [tool, args] of [["echo", { message: "hello" }], ["add", { a: 1, b: 2 }], ["fail", {}]]) await call("tools/call", { name: await toolName(call, tool, "tracker"), arguments: args });
      }
      return { ...nodes.north, end: async () => { for (const n of Object.values(nodes)) await n.end(); } };
    },
    path: "traffic?replica=*", ready: async (page) => {
      const row = page.locator(".vlist-rows .grid-row.tool", { hasText: "claude-code" }).first();
      await row.waitFor();
      if (page.viewportSize().width < 720) return;
      await row.click();
      await page.getByTestId("entry").locator(".json-line").first().waitFor();
    },
  },
  skills: { path: "bench/~default/skills", ready: (page) => page.getByTestId("feature-list").locator(".feature button").first().click() },
  tools: { path: "servers/default/demo?tab=tools" },
  logs: { path: "servers/default/corpus?tab=logs" },
  import: { path: "servers/import" },
  bundle: { path: "servers/new?from=bundle" },
  "new-script": { path: "servers/new?from=script" },
  "new-tests": { path: "tests/new" },
  suite: { path: "tests/demo" },
  rows: { path: "traffic" },
  prompts: { path: "bench/demo/prompts" },
  session: { path: "bench/demo/session" },
  nobody: { path: "servers/default/nobody" },
  question: {
    path: "bench/demo/tools/ask_name",
    ready: async (page) => {
      await page.getByTestId("run").click();
      await page.locator(".result-pane .question").waitFor();
    },
    after: (page) => page.locator(".result-pane .question").getByRole("button", { name: /^(Decline|拒绝)$/ }).click(),
  },
  overview: { path: "overview", ready: (page) => page.locator(".plot svg").first().waitFor() },
  servers: { path: "servers" },
  add: {
    path: "servers/new?q=airtable",
    ready: async (page) => {
      await page.getByTestId("found-io.github.domdomegg/airtable-mcp-server").click();
      await page.getByTestId("will-run-rows").getByText("npx -y").waitFor();
      await page.locator("#add-q-AIRTABLE_API_KEY").fill("pat123.abc123");
      await page.locator("[data-testid=add-go]:enabled").waitFor();
    },
  },
  found: { path: "servers/new?q=mcp", ready: (page) => page.getByTestId("found-io.github.domdomegg/airtable-mcp-server").waitFor() },
  command: { path: "servers/new?from=command" },
  server: { path: "servers/default/demo", ready: (page) => page.locator(".plot svg").first().waitFor() },
  config: { path: "servers/default/demo?tab=config" },
  catalog: { path: "catalog" },
  clients: { path: "clients/cursor", ready: (page) => page.getByTestId("diff").waitFor() },
  tests: {
    path: "tests",
    ready: async (page) => {
      await page.getByTestId("suite-demo").getByRole("button", { name: /^(Run|运行)$/ }).click();
      await page.getByTestId("suite-demo").locator("[data-state=passed]").waitFor();
    },
  },
  doctor: {
    path: "doctor",
    ready: async (page) => {
      await page.getByTestId("finding-demo").waitFor();
      // The names of this machine's environment are nobody's business.
      await page.evaluate(() => document.querySelectorAll(".finding pre").forEach((e) => e.remove()));
    },
  },
  traffic: {
    path: "traffic",
    ready: async (page) => {
      const call = await connect("cursor");
      await call("tools/call", { name: await toolName(call, "fail"), arguments: {} });
      const row = page.locator(".vlist-rows .grid-row.tool, .vlist-rows .grid-row.bad").first();
      await row.waitFor();
      if (page.viewportSize().width < 720) return;
      await row.click();
      await page.getByTestId("entry").locator(".json-line").first().waitFor();
    },
  },
  usage: {
    path: "usage",
    ready: async (page) => {
      await page.getByRole("radio", { name: /^30/ }).click();
      await page.getByRole("img", { name: /30/ }).waitFor();
    },
  },
  inbox: {
    path: "inbox",
    // A question that waits, of a call that is ended afterwards.
    ready: async (page) => {
      page.asking = page.asking ?? (await api(page, "POST", "bench", { target: { server: "demo", schema: "default", via: "direct" }, confirm: "", fresh: true })).body.id;
      await api(page, "POST", `bench/${page.asking}/calls`, { method: "tools/call", params: { name: "ask_name", arguments: {} } });
      await page.locator(".ibd .question, .ibl a").first().waitFor();
    },
    after: (page) => api(page, "DELETE", "bench/" + page.asking),
  },
  settings: { path: "settings" },
  palette: {
    path: "overview",
    ready: async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("add");
      await page.locator("[data-id='tool default/demo/add']").waitFor();
    },
  },
  bench: {
    path: "bench/demo/tools/add",
    ready: async (page) => {
      await page.locator("#t_a").fill("2");
      await page.locator("#t_b").fill("40");
      await page.getByTestId("run").click();
      await (await result(page)).getByText('"sum"').first().waitFor();
    },
  },
  targets: { path: "bench" },
  "bench-failed": { path: "bench/demo/tools/fail", ready: async (page) => { await page.getByTestId("run").click(); await result(page, "tool_error"); } },
  "bench-image": { path: "bench/demo/tools/get_image", ready: async (page) => { await page.getByTestId("run").click(); await (await result(page)).locator("img").first().waitFor(); } },
  "bench-table": { path: "bench/corpus/tools/large", ready: async (page) => { await page.getByTestId("run").click(); await (await result(page)).getByTestId("tab-table").click(); } },
  "bench-content": { path: "bench/corpus/tools/links", ready: async (page) => { await page.getByTestId("run").click(); await result(page); } },
  "bench-wire": { path: "bench/demo/tools/echo?via=gateway", ready: async (page) => { await page.locator("#t_message").fill("hi"); await page.getByTestId("run").click(); await (await result(page)).getByTestId("tab-wire").click(); } },
  "bench-diff": {
    path: "bench/demo/tools/echo",
    ready: async (page) => {
      for (const text of ["one", "two"]) { await page.locator("#t_message").fill(text); await page.getByTestId("run").click(); await (await result(page)).locator("pre", { hasText: text }).waitFor(); }
      await page.getByTestId("tab-diff").click();
    },
  },
  "bench-copy": { path: "bench/demo/tools/echo?a=eyJtZXNzYWdlIjoiaGkifQ", ready: async (page) => { await page.getByTestId("run").click(); await result(page); await page.getByTestId("copy-as").click(); } },
  "bench-form": { path: "bench/corpus/tools/form_simple" },
  "bench-json": { path: "bench/corpus/tools/form_union", ready: (page) => page.getByRole("tab", { name: "JSON" }).or(page.getByRole("radio", { name: "JSON" })).or(page.getByRole("button", { name: "JSON" })).first().click() },
  prompt: { path: "bench/demo/prompts/summarize" },
  resource: { path: "bench/demo/resources", ready: (page) => page.getByTestId("feature-list").locator(".feature button").first().click() },
  "as-json": { path: "settings?as=json", ready: (page) => page.getByTestId("as-json").locator(".cm-content").waitFor() },
  bulk: { path: "catalog?q=demo", ready: (page) => page.getByTestId("row-demo-echo").getByRole("checkbox").check() },
  past: { path: "inbox?tab=done" },
  script: {
    path: "bench/~default/script",
    ready: async (page) => {
      await page.locator("#script-code").fill("const numbers = [1, 2, 3];\nconst sums = await Promise.all(\n  numbers.map((n) => tools.demo.add({a: n, b: 40})));\nconsole.log(sums.length, 'sums');\nreturn sums.map((s) => s.sum)");
      await page.getByTestId("run-script").click();
      const pane = await result(page);
      await pane.getByTestId("tab-calls").click();
      await pane.getByTestId("script-calls").getByRole("row").nth(3).waitFor();
    },
  },
};

const all = (process.env.PAGES?.split(" ") ?? Object.keys(pages)).flatMap((id) => [[id + "-light", id, wide], [id + "-dark-zh", id, zh], [id + "-phone-zh", id, { ...phone, ...zh }], [id + "-phone", id, phone]]);

for (const [name, id, options] of (process.env.SCREENS ? all : documented)) {
  test("picture: " + name, async () => {
    const { at, path, ready, after } = pages[id], look = { width: 1280, height: 800, ...options };
    const gw = at && await (others[id] ??= at());
    const page = gw ? await gw.open(look) : await newPage(look);
    page.home = gw?.home;
    await visit(page, path);
    await page.locator("main .skeleton").waitFor({ state: "detached" });
    if (options.width !== phone.width) await page.locator("[data-testid=live] [data-state=live]").waitFor();
    await ready?.(page);
    await shoot(page, name);
    await after?.(page);
    await done(page);
  });
}
