// The official Inspector on the command line.
import { execFileSync } from "node:child_process";

const [tool, kind, ...target] = process.argv.slice(2);
if (kind === "stdio") process.exit(3); // not tried
const where = [...target, "--transport", "http"];
const ask = (...more) => JSON.parse(execFileSync(process.execPath, [new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url).pathname, "--cli", ...where, ...more], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }));
const { tools } = ask("--method", "tools/list");
const result = ask("--method", "tools/call", "--tool-name", tool, "--tool-arg", "message=hello");
console.log(JSON.stringify({ tools: tools.map((t) => t.name), text: result.content[0].text }));
