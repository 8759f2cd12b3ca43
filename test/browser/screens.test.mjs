// Pictures for the documentation; UPDATE=1 writes them to docs/screenshots.
import { mkdirSync } from "node:fs";
import { before, test } from "node:test";
import { base, connect, done, newPage, result, suite, toolName, visit } from "./lib.mjs";

suite();
const folder = new URL("../../docs/screenshots/", import.meta.url).pathname;

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
  // The port differs from run to run.
  await page.evaluate((at) => { document.querySelectorAll("code").forEach((c) => { c.textContent = c.textContent.replace(at, "http://127.0.0.1:3095"); }); }, base);
  await page.screenshot(picture);
}

const pictures = [
  ["overview", "overview", {}],
  ["servers", "servers", {}],
  ["traffic", "traffic", {}],
  ["bench-dark-zh", "bench/demo/tools/add", { lang: "zh-CN", dark: true }],
  ["bench", "bench/demo/tools/add", {}],
  ["phone", "overview", { width: 390, height: 800 }],
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
    if (name === "traffic") {
      await page.locator(".vlist-rows .grid-row a").nth(2).click();
      await page.getByTestId("entry").locator(".json-line").first().waitFor();
    }
    await page.locator("footer [data-state=ok]").waitFor();
    await shoot(page, name);
    await done(page);
  });
}
