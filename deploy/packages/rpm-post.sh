# Makes the unit known. The distribution's presets decide whether it is enabled; nothing is started.
if [ "$1" -eq 1 ]; then
    # Files that root makes there belong to the server's group, which may read its private keys.
    chgrp stadium /etc/stadium && chmod 2755 /etc/stadium || :
    echo "stadium: next, for devices over TLS: stadium init /etc/stadium (man stadium-init)"
fi
if command -v systemctl >/dev/null; then
    if [ "$1" -eq 1 ]; then systemctl --no-reload preset stadium.service >/dev/null 2>&1 || :; fi
    if [ -d /run/systemd/system ]; then systemctl daemon-reload >/dev/null 2>&1 || :; fi
fi
