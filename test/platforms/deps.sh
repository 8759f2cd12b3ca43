#!/usr/bin/env bash
# Installs the emulators that make platforms runs programs in.
set -euo pipefail
missing=()
command -v qemu-aarch64-static >/dev/null || missing+=(qemu-user-static)
[ -x /usr/lib/wine/wine64 ] || missing+=(wine64)
command -v x86_64-w64-mingw32-gcc >/dev/null || missing+=(gcc-mingw-w64-x86-64)
[ "${#missing[@]}" -eq 0 ] && exit 0
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
$sudo apt-get update
$sudo apt-get install -y --no-install-recommends "${missing[@]}"
