// Builds the page into ../dist, each file packed with gzip as it is served, or,
// with "test", the unit tests into test/out.
import { build } from "esbuild";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

/** oneLocale leaves out the languages of zod's messages, which nobody reads: half of what an app's host weighs. */
const oneLocale = {
  name: "one-locale",
  setup(b) {
    b.onResolve({ filter: /\/locales\/index\.js$/ }, (args) => (args.importer.includes("/zod/") ? { path: args.path, namespace: "one-locale" } : undefined));
    b.onLoad({ filter: /.*/, namespace: "one-locale" }, () => ({ contents: "export {};", loader: "js" }));
  },
};

const shared = {
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8", // scripts of modules are read as UTF-8
  logLevel: "warning",
  plugins: [oneLocale],
};

async function page() {
  const out = new URL("../dist/", import.meta.url);
  await mkdir(out, { recursive: true });
  for (const file of await readdir(out)) if (file !== ".gitkeep") await rm(new URL(file, out), { recursive: true });
  await mkdir(new URL("assets/", out));
  const pack = (path, data) => writeFile(path + ".gz", gzipSync(data, { level: 9 }));
  const built = await build({
    ...shared,
    entryPoints: { app: "src/main.tsx", style: "src/style.css" },
    outdir: out.pathname + "assets",
    entryNames: "[name]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]",
    loader: { ".woff2": "file" },
    splitting: true,
    minify: true,
    legalComments: "none",
    write: false,
  });
  for (const file of built.outputFiles) await pack(file.path, file.contents);
  for (const file of await readdir("public")) await pack(out.pathname + file, await readFile("public/" + file));
}

async function tests() {
  await rm("test/out", { recursive: true, force: true });
  const files = (await readdir("test")).filter((f) => f.endsWith(".test.ts"));
  await build({ ...shared, entryPoints: files.map((f) => "test/" + f), outdir: "test/out", platform: "node" });
}

await (process.argv[2] === "test" ? tests() : page());
