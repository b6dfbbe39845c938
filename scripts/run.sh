#!/usr/bin/env bash
# Serves Kinora and shows a clip in it, until Ctrl-C. `make run` calls it.
#
#   LISTEN=127.0.0.1:8080 DATA_DIR=./data PUBLIC_URL=http://127.0.0.1:8080 scripts/run.sh target/quick/kinora
set -euo pipefail

READY_WITHIN_S=60
STOPPED_WITHIN_S=30

kinora=$1
options=(--data-dir "$DATA_DIR" --public-url "$PUBLIC_URL")

# Sends the server a signal to stop and waits for it, so that no process remains. Ignores later signals.
stop() {
  trap '' INT TERM HUP
  kill -INT "$server" 2>/dev/null || true
  for ((i = 0; i < STOPPED_WITHIN_S * 10; i++)); do
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
}

"$kinora" serve "${options[@]}" --listen "$LISTEN" &
server=$!
trap 'stop; exit 0' INT TERM HUP
trap stop EXIT

for ((i = 0; ; i++)); do
  if curl --silent --fail --max-time 2 --output /dev/null "http://$LISTEN/readyz"; then
    break
  fi
  if ! kill -0 "$server" 2>/dev/null; then
    echo "run: the server stopped; the reason is above" >&2
    exit 1
  fi
  if ((i >= READY_WITHIN_S * 10)); then
    echo "run: the server is not ready after $READY_WITHIN_S s: http://$LISTEN/readyz says why" >&2
    exit 1
  fi
  sleep 0.1
done

"$kinora" demo "${options[@]}"
wait "$server"
