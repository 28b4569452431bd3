# Stops the server before it is removed; $1 is the number of versions that stay.
if [ "$1" -eq 0 ] && command -v systemctl >/dev/null; then
    systemctl --no-reload disable stadium.service >/dev/null 2>&1 || :
    if [ -d /run/systemd/system ]; then systemctl stop stadium.service >/dev/null 2>&1 || :; fi
fi
