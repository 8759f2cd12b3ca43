// Pictures for the documentation; UPDATE=1 writes them to docs/screenshots.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { base, connect, done, newPage, result, suite, toolName, visit } from "./lib.mjs";

suite();
const folder = new URL("../../docs/screenshots/", import.meta.url).pathname;

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

async function shoot(page, name) {
  await page.mouse.move(0, 0);
  const picture = { path: process.env.UPDATE ? `${folder}${name}.png` : undefined };
  if (picture.path) mkdirSync(folder, { recursive: true });
  // The port and the folders differ from run to run.
  const names = [[base, "http://127.0.0.1:3095"], [process.env.HOME, "/home/ada"], [dirname(process.env.CONSOLE_CONFIG), "/home/ada/.config/mcp-all-in-one"], [dirname(dirname(process.env.CONSOLE_CONFIG)), "/home/ada"], [process.env.PROGRAM, "/usr/local/bin/mcp-all-in-one"]];
  await page.evaluate((names) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) for (const [from, to] of names) texts.currentNode.data = texts.currentNode.data.replaceAll(from, to);
  }, names);
  await page.screenshot(picture);
}

const pictures = [
  ["overview", "overview", { width: 1440, height: 1180 }],
  ["overview-dark-zh", "overview", { lang: "zh-CN", dark: true }],
  ["servers", "servers", {}],
  ["server-dark", "servers/default/demo", { width: 1440, height: 960, dark: true }],
  ["catalog", "catalog", { width: 1440, height: 960 }],
  ["clients", "clients/cursor", {}],
  ["tests", "tests", {}],
  ["doctor", "doctor", {}],
  ["traffic", "traffic", { width: 1440, height: 960 }],
  ["inbox", "inbox", {}],
  ["settings", "settings", {}],
  ["palette-dark", "overview", { dark: true }],
  ["bench-dark-zh", "bench/demo/tools/add", { lang: "zh-CN", dark: true }],
  ["bench", "bench/demo/tools/add", {}],
  ["phone", "overview", { width: 390, height: 800 }],
  ["phone-traffic", "traffic", { width: 390, height: 800 }],
];

for (const [name, path, options] of pictures) {
  test("picture: " + name, async () => {
    const page = await newPage({ width: 1280, height: 800, ...options });
    await visit(page, path);
    if (path.startsWith("bench")) {
      await page.locator("#t_a").fill("2");
      await page.locator("#t_b").fill("40");
      await page.getByTestId("run").click();
      await (await result(page)).getByText('"sum"').first().waitFor();
    }
    if (name === "clients") await page.getByTestId("diff").waitFor();
    if (name === "tests") {
      await page.getByTestId("suite-demo").getByRole("button", { name: "Run" }).click();
      await page.getByTestId("suite-demo").locator("[data-state=passed]").waitFor();
    }
    if (name === "doctor") {
      await page.getByTestId("finding-demo").waitFor();
      // The names of this machine's environment are nobody's business.
      await page.evaluate(() => document.querySelectorAll(".finding pre").forEach((e) => e.remove()));
    }
    if (name === "traffic") {
      await page.locator(".vlist-rows .grid-row.tool, .vlist-rows .grid-row.bad").first().click();
      await page.getByTestId("entry").locator(".json-line").first().waitFor();
    }
    if (name === "palette-dark") {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("add");
      await page.locator("[data-id='tool default/demo/add']").waitFor();
    }
    await page.locator("main .skeleton").waitFor({ state: "detached" });
    if (/^(overview|server-|phone$)/.test(name)) await page.locator(".plot svg").first().waitFor();
    if (!name.startsWith("phone")) await page.locator("[data-testid=live] [data-state=live]").waitFor();
    await shoot(page, name);
    await done(page);
  });
}
