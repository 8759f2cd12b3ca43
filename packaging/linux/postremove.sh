#!/bin/sh
# The key was made here, so no package manager removes it. deb keeps
# configuration until it is purged; rpm and apk keep only what was changed.
set -e
case "${1:-remove}" in
  purge | 0)
    rm -f /etc/mcp-all-in-one/key
    rmdir /etc/mcp-all-in-one 2>/dev/null || true
    ;;
esac
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
fi
