#!/usr/bin/env bash
# apt.sh PROGRAM=PACKAGE... installs the Debian packages of programs that are missing.
set -euo pipefail
missing=()
for pair in "$@"; do
  PATH=$PATH:/usr/sbin command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}")
done
[ "${#missing[@]}" -eq 0 ] && exit 0
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
$sudo apt-get update
$sudo apt-get install -y --no-install-recommends "${missing[@]}"
