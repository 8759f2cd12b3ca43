// What a window of 1,300 px and a phone must still show.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, done, newPage, result, suite, visit } from "./lib.mjs";
import { addPending } from "./pending.mjs";

suite();

/** outside are the parts that are not wholly inside the frame around them. */
const outside = (page, parts, frame) => page.evaluate(([parts, frame]) => [...document.querySelectorAll(parts)].flatMap((e) => {
  const own = e.getBoundingClientRect(), around = e.closest(frame).getBoundingClientRect();
  const inside = own.width > 0 && own.left >= around.left && own.right <= Math.min(around.right, innerWidth) + 0.5;
  return inside ? [] : [`${e.textContent}: ${own.left} to ${own.right} in ${around.left} to ${around.right}`];
}), [parts, frame]);

const sizes = [1300, 1000, 390];

test("every action of every server is inside its card", async () => {
  const page = await newPage();
  await addPending(page, "waits-with-quite-a-long-name-of-its-own", { command: process.env.CORPUS_COMMAND });
  for (const lang of ["en", "zh-CN"]) {
    for (const width of sizes) {
      await page.setViewportSize({ width, height: 800 });
      await visit(page, `servers?lang=${lang}`);
      await page.locator("main .actions").nth(4).waitFor();
      assert.ok(await page.locator("main .actions > *").count() >= 5 + 1);
      assert.deepEqual(await outside(page, "main .actions > *", ".card"), [], `servers at ${width} px in ${lang}`);
      // A menu lies over everything, wholly in the window.
      await page.locator("main .actions .icon-button").last().click();
      assert.deepEqual(await outside(page, ".pop:popover-open > *", "body"), [], `the menu at ${width} px in ${lang}`);
      await page.keyboard.press("Escape");
      await accessible(page);
    }
  }
  await api(page, "DELETE", "servers/default/waits-with-quite-a-long-name-of-its-own");
  await done(page);
});

test("a long reason stays in its card", async () => {
  const page = await newPage();
  const entry = { command: "/" + Array.from({ length: 12 }, (_, i) => `home/ada/.tools/bin${i}:`).join("") };
  const confirm = (await api(page, "PUT", "servers/default/long", { entry, confirm: "" })).body.error.run;
  await api(page, "PUT", "servers/default/long", { entry, confirm });
  for (const width of sizes) {
    await page.setViewportSize({ width, height: 800 });
    await visit(page, "overview");
    const card = page.locator(".attention-card");
    await card.getByText("bin11:").waitFor();
    const [shown, needed] = await card.evaluate((e) => [e.clientWidth, e.scrollWidth]);
    assert.ok(needed <= shown, `${needed} px of text in ${shown} at ${width}`);
  }
  await api(page, "DELETE", "servers/default/long");
  await done(page);
});

test("the navigation of a phone is one line in either language", async () => {
  for (const lang of ["en", "zh-CN"]) {
    const page = await newPage({ lang, width: 390, height: 800 });
    await visit(page, "overview");
    const labels = page.locator("nav.tabbar a span");
    assert.equal(await labels.count(), 5);
    assert.deepEqual(await labels.evaluateAll((list) => list.filter((e) => e.getBoundingClientRect().height > 16).map((e) => e.textContent)), []);
    // Every target is large enough for a finger, and the other pages are in the search.
    assert.deepEqual(await page.locator("nav.tabbar a").evaluateAll((list) => list.filter((e) => e.getBoundingClientRect().height < 44 || e.getBoundingClientRect().width < 44).map((e) => e.textContent)), []);
    await page.locator(".head .m-only button").click();
    await page.locator("[data-id='page settings']").click();
    await page.waitForURL("**/ui/settings");
    await done(page);
  }
});

test("settings are wide enough to read and to edit on a phone", async () => {
  const page = await newPage({ lang: "zh-CN", width: 390, height: 800 });
  await visit(page, "settings");
  const port = page.locator("[id='set-server.port']");
  await port.waitFor();
  const narrow = await page.locator(".sr .v input").evaluateAll((list) => list.filter((e) => e.getBoundingClientRect().width < 200).map((e) => e.id));
  assert.deepEqual(narrow, []);
  assert.deepEqual(await outside(page, ".sr .tag", ".card"), []);
  // What is not set is empty, and the port is the one that is listened on.
  assert.equal(await page.locator("[id='set-server.hosts']").inputValue(), "");
  assert.equal(await port.inputValue(), "");
  assert.equal(await port.getAttribute("placeholder"), "自动：" + new URL(page.url()).port);
  assert.deepEqual(await page.locator(".sr .tag", { hasText: /^(default|file|env|flag)$/ }).count(), 0);
  await accessible(page);
  await done(page);
});

test("console/8 the head of a result is whole at every width", async () => {
  for (const lang of ["en", "zh-CN"]) {
    const page = await newPage({ lang });
    await visit(page, "bench/demo/tools/add");
    await page.locator("#t_a").fill("2");
    await page.locator("#t_b").fill("40");
    await page.getByTestId("run").click();
    await (await result(page)).locator(".rh .tag").waitFor(); // it matches its schema
    for (const width of [1440, 1280, 1000, 390]) {
      await page.setViewportSize({ width, height: 800 });
      assert.deepEqual(await outside(page, ".rh .tag, .rh .took", ".rh"), [], `at ${width} px in ${lang}`);
      // No tab and no button is cut off, or it can be scrolled to.
      if (width > 720) assert.deepEqual(await outside(page, ".rt [role=tab]:not([hidden]), .rt > .button", ".rt"), [], `at ${width} px in ${lang}`);
    }
    await done(page);
  }
});

test("the files of a skill and a result are in view on a phone", async () => {
  const page = await newPage({ width: 390, height: 800 });
  await visit(page, "bench/~default/skills");
  await page.getByTestId("feature-list").locator(".feature button").first().click();
  await page.getByTestId("skill-files").locator("li").first().waitFor();
  await visit(page, "bench/demo/tools/add");
  await page.locator("#t_a").fill("2");
  await page.locator("#t_b").fill("40");
  await page.getByTestId("run").click();
  const head = (await result(page)).locator(".took");
  await head.waitFor();
  const at = await head.boundingBox();
  assert.ok(at.y + at.height < 740, `the result is at ${at.y} px, below what is seen`);
  await done(page);
});
