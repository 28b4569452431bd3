# Makes the service's user, as deploy/packages/stadium.sysusers has it, before files are written.
getent group stadium >/dev/null || groupadd --system stadium || :
getent passwd stadium >/dev/null || useradd --system --gid stadium --home-dir /var/lib/stadium \
    --no-create-home --shell /sbin/nologin --comment "Stadium server" stadium || :
