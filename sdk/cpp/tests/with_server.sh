#!/bin/sh
# Runs a program with a Stadium server of its own, whose address and key are in its environment:
# STADIUM_ADDRESS and STADIUM_KEY. STADIUM_BIN is the server. The server ends with this script.
set -eu
folder=$(mktemp -d)
STADIUM_JOURNAL__SEGMENT_BYTES=9437184 STADIUM_JOURNAL__RESERVE_BYTES=262144 \
    setpriv --pdeathsig KILL -- "$STADIUM_BIN" serve --json --trial --data "$folder/data" \
    --mqtt off --http 127.0.0.1:0 --rpc 127.0.0.1:0 --loops 1 \
    >"$folder/out" 2>"$folder/err" &
server=$!
trap 'kill -KILL $server 2>/dev/null; wait $server 2>/dev/null || true; rm -rf "$folder"' EXIT
tries=0
while ! grep -q '"event":"ready"' "$folder/out"; do
    tries=$((tries + 1))
    if [ $tries -gt 400 ] || ! kill -0 $server 2>/dev/null; then
        cat "$folder/err" >&2
        exit 1
    fi
    sleep 0.05
done
STADIUM_ADDRESS=$(sed -n 's/.*"address":"\([^"]*\)","name":"rpc".*/\1/p' "$folder/out")
STADIUM_KEY=$(cat "$folder/data/admin.key")
export STADIUM_ADDRESS STADIUM_KEY
"$@"
