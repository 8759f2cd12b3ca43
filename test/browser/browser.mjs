// The browser that test files share: contexts keep them apart. It logs in with the code of CONSOLE_CODE, keeps the cookie
// for the tests, says where it listens, and ends with its input.
import { chromium } from "playwright-core";
import { options } from "./lib.mjs";

const server = await chromium.launchServer(options());
const browser = await chromium.connect(server.wsEndpoint());
const page = await (await browser.newContext()).newPage();
await page.goto(`${process.env.CONSOLE_URL}/ui/#code=${process.env.CONSOLE_CODE}`);
await page.locator("main.screen").waitFor();
await page.context().storageState({ path: process.env.CONSOLE_STATE });
await browser.close();
console.log(server.wsEndpoint());
process.stdin.on("end", () => server.close()).resume();
