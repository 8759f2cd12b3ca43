#!/usr/bin/env bash
# Installs the official inspector, once, into a cache folder, and prints the
# program to run with Node.js. It is apart from deps.sh because of its size.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/mcp-all-in-one-test/inspector"

mkdir -p "$cache"
exec 9>"$cache/lock"
if command -v flock >/dev/null; then flock 9; fi

stamp="$(cat "$here/inspector/package-lock.json" "$0" | cksum | tr ' ' -)"
if [ "$(cat "$cache/stamp" 2>/dev/null)" != "$stamp" ]; then
  cp "$here/inspector/package.json" "$here/inspector/package-lock.json" "$cache/"
  # The versions are pinned with their hashes, and none of their scripts runs.
  npm ci --prefix "$cache" --ignore-scripts --no-audit --no-fund --loglevel=error >&2
  echo "$stamp" >"$cache/stamp"
fi
echo "$cache/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
