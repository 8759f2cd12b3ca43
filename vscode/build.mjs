// Builds the extension and the script that its tab runs, and takes over the
// console's page.
import { build } from "esbuild";
import { cp, mkdir, rm } from "node:fs/promises";

const shared = { bundle: true, target: "es2022", logLevel: "warning", minify: true, legalComments: "none" };
await rm("out", { recursive: true, force: true });
await rm("page", { recursive: true, force: true });
await mkdir("page", { recursive: true });
await build({ ...shared, entryPoints: ["src/extension.ts"], outfile: "out/extension.js", platform: "node", format: "cjs", external: ["vscode"] });
await build({ ...shared, entryPoints: ["src/bridge.ts"], outfile: "page/bridge.js", format: "iife" });
await cp("../internal/web/dist/assets", "page/assets", { recursive: true });
