#!/bin/sh
# `remove` keeps the configuration and the data; `purge` deletes both, as it does for databases of Debian.
set -e

if [ "$1" = remove ] && [ -x /usr/bin/deb-systemd-helper ]; then
    deb-systemd-helper mask stadium.service >/dev/null || true
fi
if [ "$1" = purge ]; then
    if [ -x /usr/bin/deb-systemd-helper ]; then
        deb-systemd-helper purge stadium.service >/dev/null || true
        deb-systemd-helper unmask stadium.service >/dev/null || true
    fi
    # The unit's user is dynamic: systemd keeps the data in private, and a link to it.
    rm -rf /var/lib/private/stadium /etc/stadium
    [ ! -L /var/lib/stadium ] || rm -f /var/lib/stadium
    [ ! -d /var/lib/stadium ] || rm -rf /var/lib/stadium
fi
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
