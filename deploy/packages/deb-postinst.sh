#!/bin/sh
# Enables the unit at the first installation, starts it, and restarts it at an upgrade.
# An administrator's `systemctl disable` or `mask` is kept: deb-systemd-helper remembers it.
set -e

[ "$1" = configure ] || [ "$1" = abort-upgrade ] || [ "$1" = abort-remove ] || exit 0
if command -v deb-systemd-helper >/dev/null; then
    deb-systemd-helper unmask stadium.service >/dev/null || true
    if deb-systemd-helper --quiet was-enabled stadium.service; then
        deb-systemd-helper enable stadium.service >/dev/null || true
    else
        deb-systemd-helper update-state stadium.service >/dev/null || true
    fi
fi
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
    # $2 is the version that was configured before.
    if [ -n "$2" ]; then action=restart; else action=start; fi
    deb-systemd-invoke "$action" stadium.service >/dev/null || true
fi
