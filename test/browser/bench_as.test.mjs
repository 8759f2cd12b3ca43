// Whom the tester speaks as: an era, a version, a client.
import { test } from "node:test";
import { connect, done, newPage, result, suite, visit } from "./lib.mjs";

suite();

/** open fills in the form of the bench and connects. */
async function open(page, target, field, choice) {
  await visit(page, "bench");
  await page.getByLabel("Target").selectOption({ label: target });
  await page.getByLabel(field, { exact: true }).selectOption({ label: choice });
  await page.getByRole("button", { name: "Connect", exact: true }).click();
}

// The name of such a session begins with @, which a URL escapes.
const opened = /bench\/%40/;

test("era: a configured server is spoken to in the era that is chosen", async () => {
  const page = await newPage();
  for (const [target, choice, want] of [["modern", "2026-07-28", "2026-07-28"], ["demo", "modern", "2026-07-28"], ["demo", "2025-03-26", "2025-03-26"], ["demo", "legacy", "2025-11-25"]]) {
    await open(page, target, "Protocol", choice);
    await page.waitForURL(opened);
    await page.getByTestId("target").filter({ hasText: want }).first().waitFor();
  }
  // One that it does not speak is an error that says so.
  await open(page, "modern", "Protocol", "legacy");
  await page.locator(".connect .notice.err").waitFor();
  await done(page);
});

test("as a client: the tester offers what that client offers", async () => {
  const page = await newPage();
  await connect("rooted-client", { roots: { listChanged: true } });
  await open(page, "demo", "As a client", "rooted-client 1.0");
  await page.waitForURL(opened);
  await page.getByTestId("feature-list").getByText("ask_name").first().click();
  await page.getByTestId("run").click();
  // That client cannot be asked, so neither can the tester.
  await page.getByTestId("result").getByText("the client does not offer elicitation").first().waitFor();
  await page.getByTestId("feature-list").getByText("show_roots").first().click();
  await page.getByTestId("run").click();
  await (await result(page)).getByText(/\d roots/).first().waitFor();
  await done(page);
});
