#!/bin/sh
# Stops the service when the package goes; on an upgrade it is restarted later.
# deb says remove, rpm says 0, apk says nothing.
set -e
case "${1:-remove}" in
  remove | 0)
    if [ -d /run/systemd/system ]; then
      systemctl disable --now mcp-all-in-one.service || true
    fi
    ;;
esac
