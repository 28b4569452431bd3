#!/bin/sh
# `remove` keeps the configuration and the data; `purge` deletes both, as it does for databases of Debian.
# The user stays: files of it elsewhere, such as backups, would belong to the next user of its number.
set -e

if [ "$1" = remove ] && [ -x /usr/bin/deb-systemd-helper ]; then
    deb-systemd-helper mask stadium.service >/dev/null || true
fi
if [ "$1" = purge ]; then
    if [ -x /usr/bin/deb-systemd-helper ]; then
        deb-systemd-helper purge stadium.service >/dev/null || true
        deb-systemd-helper unmask stadium.service >/dev/null || true
    fi
    rm -rf /var/lib/stadium /etc/stadium
fi
if [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
