# Makes the unit known. The distribution's presets decide whether it is enabled; nothing is started.
if command -v systemctl >/dev/null; then
    if [ "$1" -eq 1 ]; then systemctl --no-reload preset stadium.service >/dev/null 2>&1 || :; fi
    if [ -d /run/systemd/system ]; then systemctl daemon-reload >/dev/null 2>&1 || :; fi
fi
