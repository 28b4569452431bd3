#!/bin/sh
# Stops the server before it is removed. An upgrade leaves it running: postinst restarts it.
set -e

if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop stadium.service >/dev/null || true
fi
