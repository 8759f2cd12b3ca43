#!/usr/bin/env bash
# Installs the published clients and servers that the interoperability tests
# run against, once, into a cache folder, and prints that folder.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/mcp-all-in-one-test"
uv_version=0.13.7
time_version=2026.10.19
fastmcp_version=4.1.2
agents_version=0.24.0

need() { command -v "$1" >/dev/null || { echo "$1 is needed: $2" >&2; exit 1; }; }
need npm "install Node.js 20 or newer"
need python3 "install Python 3.10 or newer"

mkdir -p "$cache"
exec 9>"$cache/lock"
if command -v flock >/dev/null; then flock 9; fi

stamp="$(cat "$here/npm/package-lock.json" "$0" | cksum | tr ' ' -)"
if [ "$(cat "$cache/stamp" 2>/dev/null)" != "$stamp" ]; then
  mkdir -p "$cache/npm"
  cp "$here/npm/package.json" "$here/npm/package-lock.json" "$cache/npm/"
  npm ci --prefix "$cache/npm" --no-audit --no-fund --loglevel=error >&2
  python3 -m venv "$cache/python" >&2
  "$cache/python/bin/pip" install --quiet "uv==$uv_version" "fastmcp[tasks]==$fastmcp_version" "openai-agents==$agents_version" >&2
  # The first run downloads the package; later ones start from uv's cache.
  "$cache/python/bin/uvx" --from "mcp-server-time==$time_version" mcp-server-time --help >/dev/null
  echo "$stamp" >"$cache/stamp"
fi
echo "$cache"
