// Starts the program for this platform in place of Node: with its name, its
// standard files, its signals and its exit code.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;

function program() {
  const file = process.platform === "win32" ? "mcp-all-in-one.exe" : "mcp-all-in-one";
  try {
    return require.resolve(`@mcp-all-in-one/${platform}/bin/${file}`);
  } catch {
    console.error(`mcp-all-in-one: the package @mcp-all-in-one/${platform} is not installed.`);
    console.error("Install without --omit=optional (--no-optional); other ways to get the program: https://github.com/mcp-all-in-one/mcp-all-in-one");
    process.exit(1);
  }
}

module.exports = function launch(name) {
  const path = program();
  const args = process.argv.slice(2);
  // Where Node can become the program, nothing stands between it and its
  // caller. Elsewhere Node waits, and passes on what it is told.
  if (process.execve && process.platform !== "win32") {
    try {
      process.execve(path, [name, ...args], process.env);
    } catch {} // falls through to the other way
  }
  const child = spawn(path, args, { stdio: "inherit", argv0: name });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGBREAK"]) {
    if (signal in constants.signals) process.on(signal, () => child.kill(signal));
  }
  child.on("error", (error) => {
    console.error(`mcp-all-in-one: starting ${path}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
};
