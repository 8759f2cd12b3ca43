// Builds the extension and the script that its tab runs, and takes over the
// console's page.
import { build } from "esbuild";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";

const shared = { bundle: true, target: "es2022", logLevel: "warning", minify: true, legalComments: "none" };
await rm("out", { recursive: true, force: true });
await rm("page", { recursive: true, force: true });
await mkdir("page/assets", { recursive: true });
await build({ ...shared, entryPoints: ["src/extension.ts"], outfile: "out/extension.js", platform: "node", format: "cjs", external: ["vscode"] });
await build({ ...shared, entryPoints: ["src/bridge.ts"], outfile: "page/bridge.js", format: "iife" });
const assets = "../internal/web/dist/assets/";
for (const file of await readdir(assets)) await writeFile("page/assets/" + file.replace(/\.gz$/, ""), gunzipSync(await readFile(assets + file)));
