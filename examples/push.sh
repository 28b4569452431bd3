#!/bin/sh
# Pushes a message with curl and follows it until nothing more will happen.
#
#   STADIUM_DATA=/tmp/stadium examples/push.sh everybody 'Doors open at eight'
#
# With a device's id in the place of `everybody` it goes to that device; STADIUM_URL and STADIUM_KEY name a server elsewhere.
set -eu

to=${1:?who: everybody, or a device id}
message=${2:?the message}
url=${STADIUM_URL:-http://127.0.0.1:8080}
key=${STADIUM_KEY:-$(cat "${STADIUM_DATA:-stadium-data}/admin.key")}

# As JSON has texts: quotes and backslashes behind a backslash.
quoted() { printf '%s' "$1" | sed 's/[\\"]/\\&/g'; }
case $to in
everybody) audience='"everybody"' ;;
*) audience="{\"device\": \"$(quoted "$to")\"}" ;;
esac

# The same Idempotency-Key again would get the same answer and push nothing: a retry is safe.
accepted=$(curl --silent --show-error --fail-with-body "$url/api/push" \
    --header "Authorization: Bearer $key" \
    --header "Content-Type: application/json" \
    --header "Idempotency-Key: push-sh-$$-$(date +%s)" \
    --data "{\"to\": $audience, \"message\": \"$(quoted "$message")\", \"qos\": 1, \"expiry_s\": 3600}") || { printf '%s\n' "$accepted" >&2; exit 1; }
id=$(printf '%s' "$accepted" | sed -n 's/.*"id":"\([^"]*\)".*/\1/p')
echo "accepted as $id" >&2

while :; do
    report=$(curl --silent --show-error --fail-with-body "$url/api/pushes/$id" --header "Authorization: Bearer $key")
    case $report in *'"status":"settled"'*) break ;; esac
    sleep 0.2
done
printf '%s\n' "$report"
