#!/bin/sh
# Makes the service's user, enables the unit at the first installation, starts it, and restarts it at
# an upgrade. An administrator's `systemctl disable` or `mask` is kept: deb-systemd-helper remembers it.
set -e

[ "$1" = configure ] || [ "$1" = abort-upgrade ] || [ "$1" = abort-remove ] || exit 0
if ! getent passwd stadium >/dev/null; then
    if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers /usr/lib/sysusers.d/stadium.conf
    else
        useradd --system --user-group --home-dir /var/lib/stadium --no-create-home \
            --shell /usr/sbin/nologin --comment "Stadium server" stadium
    fi
fi
# $2 is the version that was configured before.
if [ -z "$2" ]; then
    # Files that root makes there belong to the server's group, which may read its private keys.
    chgrp stadium /etc/stadium
    chmod 2755 /etc/stadium
fi
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
    if [ -n "$2" ]; then action=restart; else action=start; fi
    deb-systemd-invoke "$action" stadium.service >/dev/null || true
fi
if [ -z "$2" ]; then
    echo "stadium: next, for devices over TLS: stadium init /etc/stadium (man stadium-init)"
fi
