// Logs in once with the code of CONSOLE_CODE and keeps the cookie for the tests.
import { chromium } from "playwright-core";

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
const page = await (await browser.newContext()).newPage();
await page.goto(`${process.env.CONSOLE_URL}/ui/#code=${process.env.CONSOLE_CODE}`);
await page.locator("main.screen").waitFor();
await page.context().storageState({ path: process.env.CONSOLE_STATE });
await browser.close();
