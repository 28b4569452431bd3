# Restarts a server that runs after an upgrade. Configuration and data stay after a removal, as for every rpm.
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload >/dev/null 2>&1 || :
    if [ "$1" -ge 1 ]; then systemctl try-restart stadium.service >/dev/null 2>&1 || :; fi
fi
