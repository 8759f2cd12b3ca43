import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, api, connect, done, newPage, result, suite, toolName, visit } from "./lib.mjs";

suite();

/** ask starts a call that asks, in one tab, and opens the inbox in another. */
async function ask(tool, fill) {
  const caller = await newPage();
  await visit(caller, "bench/demo/tools/" + tool);
  if (fill) await fill(caller);
  await caller.getByTestId("run").click();
  await caller.locator("[data-testid=result][data-state=running]").waitFor();
  const inbox = await newPage({ context: caller.context() });
  await visit(inbox, "inbox");
  return { caller, inbox };
}

test("a link to a question that is over shows no other question", async () => {
  const { caller, inbox } = await ask("ask_name");
  await inbox.getByTestId("question-elicitation").waitFor();
  await visit(inbox, "inbox/1-000000000000");
  await inbox.getByText("This question is no longer open.").waitFor();
  assert.equal(await inbox.getByTestId("question-elicitation").count(), 0);
  await accessible(inbox);
  await visit(inbox, "inbox");
  await inbox.getByTestId("question-elicitation").getByRole("button", { name: "Decline" }).click();
  await done(caller);
  await done(inbox);
});

test("elicitation: answered in the inbox with a form", async () => {
  const { caller, inbox } = await ask("ask_name");
  const card = inbox.getByTestId("question-elicitation");
  await card.getByText("What is your name?").waitFor();
  await accessible(inbox);
  await card.getByRole("textbox", { name: /name/i }).fill("Ada");
  await card.getByRole("button", { name: "Answer" }).click();
  await card.waitFor({ state: "detached" });
  await (await result(caller)).getByText("Hello, Ada!").waitFor();
  await done(inbox);
});

test("elicitation: declined and cancelled", async () => {
  for (const [button, want] of [["Decline", "No name: decline."], ["Cancel", "No name: cancel."]]) {
    const { caller, inbox } = await ask("ask_name");
    await inbox.getByTestId("question-elicitation").getByRole("button", { name: button }).click();
    await (await result(caller)).getByText(want).waitFor();
    await done(inbox);
  }
});

test("sampling: shown whole, answered by hand", async () => {
  const { caller, inbox } = await ask("ask_model", (page) => page.locator("#t_prompt").fill("What is MCP?"));
  const card = inbox.getByTestId("question-sampling");
  await card.getByText("What is MCP?").waitFor();
  await accessible(inbox);
  await card.getByLabel("Reply").fill("A protocol.");
  await card.getByLabel("Model").fill("ada-1");
  await card.getByRole("button", { name: "Send" }).click();
  await (await result(caller)).getByText("ada-1 says: A protocol.").waitFor();
  await done(inbox);
});

test("a question is a badge and a title, never a modal", async () => {
  const { caller, inbox } = await ask("ask_name");
  await inbox.getByTestId("inbox-badge").filter({ hasText: "1" }).waitFor();
  await inbox.waitForFunction(() => document.title.startsWith("(1)"));
  await visit(inbox, "overview");
  await inbox.locator(".attention-card", { hasText: "What is your name?" }).getByRole("link", { name: "Answer" }).waitFor();
  if (await inbox.locator("dialog, [aria-modal=true]").count()) throw new Error("a modal is open");
  // It can be answered beside the call as well.
  const card = caller.getByTestId("question-elicitation");
  await card.getByRole("button", { name: "Decline" }).click();
  await result(caller);
  await done(inbox);
});

test("approval: a call whose policy is to ask runs after a yes, and not without", async () => {
  const page = await newPage();
  const { body } = await api(page, "GET", "servers/default/demo");
  await api(page, "PUT", "servers/default/demo", { entry: { ...body.entry, tools: { echo: { ask: true } } }, confirm: "" });
  const call = await connect("careful-client");
  const name = await toolName(call, "echo");
  await visit(page, "inbox");
  for (const [button, want] of [["Allow once", /"did it"/], ["Deny", /no person approved it/]]) {
    const answer = call("tools/call", { name, arguments: { message: "did it" } });
    const card = page.getByTestId("question-approval");
    await card.getByText("for careful-client", { exact: false }).waitFor();
    await card.getByText('"did it"').waitFor();
    await accessible(page);
    await card.getByRole("button", { name: button }).click();
    assert.match(await answer, want);
    await card.waitFor({ state: "detached" });
  }
  // A tool that is not asked about is not held up.
  assert.match(await call("tools/call", { name: await toolName(call, "add"), arguments: { a: 1, b: 2 } }), /3/);
  await api(page, "PUT", "servers/default/demo", { entry: body.entry, confirm: "" });
  await done(page);
});

test("the call that waits stands beside the question, and Done says how each question ended", async () => {
  const { caller, inbox } = await ask("ask_model", (page) => page.locator("#t_prompt").fill("Who is Ada?"));
  await inbox.getByTestId("caused").getByText('"ask_model"').waitFor();
  await inbox.getByTestId("caused").getByText('"Who is Ada?"').waitFor();
  const steps = inbox.getByTestId("so-far").getByRole("listitem");
  await steps.first().getByText("Bench → ask_model").waitFor();
  await steps.last().getByText("asks").waitFor();
  await inbox.getByTestId("question-sampling").getByRole("button", { name: "Decline" }).click();
  await inbox.getByTestId("caused").waitFor({ state: "detached" });
  await inbox.getByRole("radio", { name: "Done" }).click();
  const rows = inbox.getByTestId("done");
  await rows.filter({ hasText: "ask_model" }).first().getByText(/^Declined/).waitFor();
  await accessible(inbox);
  // It stays there when the page is opened again, and says who answered.
  await inbox.reload();
  await rows.filter({ hasText: "ask_model" }).first().getByRole("link").click();
  await inbox.getByTestId("over").getByText(/by owner/).waitFor();
  await inbox.getByTestId("over").getByText('"Who is Ada?"').waitFor();
  assert.equal(await inbox.getByTestId("over").getByRole("button", { name: /Send|Decline/ }).count(), 0);
  await accessible(inbox);
  await done(caller);
  await done(inbox);
});

test("console/4 a question that ended is listed as ended, and cannot be answered", async () => {
  const { caller, inbox } = await ask("ask_name");
  const card = inbox.getByTestId("question-elicitation");
  await card.getByText(/left$/).waitFor();
  const before = await inbox.getByTestId("ended").count();
  await caller.keyboard.press("Escape"); // the call is cancelled
  await card.waitFor({ state: "detached" });
  await inbox.getByTestId("ended").filter({ hasText: "What is your name?" }).first().getByText(/^The call ended first/).waitFor();
  assert.equal(await inbox.getByRole("button", { name: "Answer" }).count(), 0);
  await accessible(inbox);
  // One that was answered here is not.
  await caller.getByTestId("run").click();
  await card.getByRole("button", { name: "Decline" }).click();
  await card.waitFor({ state: "detached" });
  assert.equal(await inbox.getByTestId("ended").count(), before + 1);
  await done(inbox);
});

test("a question shows what its call did so far, and how one like it ended last time", async () => {
  const page = await newPage();
  const call = await connect("telling-client");
  const name = await toolName(call, "ask_name");
  await visit(page, "inbox");
  for (const last of [false, true]) {
    const answer = call("tools/call", { name, arguments: {} });
    const card = page.getByTestId("question-elicitation");
    await card.waitFor();
    await page.getByTestId("so-far").getByText("telling-client → ask_name").waitFor();
    if (last) await page.getByTestId("last-time").getByRole("link", { name: /^Declined, / }).waitFor();
    await accessible(page);
    await card.getByRole("button", { name: "Decline" }).click();
    await answer;
    await card.waitFor({ state: "detached" });
  }
  await done(page);
});
