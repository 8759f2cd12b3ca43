#!/bin/sh
# Makes the key of this machine, once; an upgrade keeps it.
set -e
key=/etc/mcp-all-in-one/key
if [ ! -e "$key" ]; then
  (umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$key")
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
  systemctl try-restart mcp-all-in-one.service || true
fi
