#!/usr/bin/env bash
# Makes a release from each of two clones in different folders and compares
# every byte.
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
tmp="$(mktemp -d)"
trap 'rm -rf "$tmp"' EXIT
for clone in "$tmp/one" "$tmp/another/deeper"; do
  git clone --quiet "$root" "$clone"
  make -C "$clone" release >"$tmp/log" 2>&1 || { tail -n 30 "$tmp/log"; exit 1; }
done
diff -r "$tmp/one/dist" "$tmp/another/deeper/dist"
echo "the same bytes: $(wc -l <"$tmp/one/dist/SHA256SUMS") artefacts"
