#!/usr/bin/env bash
# Installs the balancers that make torture runs before a cluster.
set -euo pipefail
missing=()
for program in haproxy nginx; do
  PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || missing+=("$program")
done
[ "${#missing[@]}" -eq 0 ] && exit 0
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
$sudo apt-get update
$sudo apt-get install -y --no-install-recommends "${missing[@]}"
