#!/usr/bin/env bash
# Runs schemathesis on the whole API of a temporary server, from its OpenAPI document. No response may be a
# 5xx or differ from the document.
#
# KINORA is the binary, KINORA_TEST_PYTHON the Python with schemathesis. KINORA_SCHEMATHESIS_EXAMPLES is the
# number of generated requests per operation in each half. Requests for the bounds of every parameter are
# additional.
set -euo pipefail
cd "$(dirname "$0")/.."

kinora=${KINORA:-${CARGO_TARGET_DIR:-target}/debug/kinora}
python=${KINORA_TEST_PYTHON:-$(scripts/python.sh)}
examples=${KINORA_SCHEMATHESIS_EXAMPLES:-30}

checks=not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance
checks+=,response_schema_conformance,negative_data_rejection,ignored_auth

# The same requests in each run of the tests; new ones with KINORA_SCHEMATHESIS_NEW=1.
made=(--generation-deterministic)
[ -z "${KINORA_SCHEMATHESIS_NEW:-}" ] || made=(--generation-database none)

data=$(mktemp --directory)
server=
end() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server"; } || true
  rm -rf "$data"
}
trap end EXIT

# Without a worker, so no process fetches generated source URLs.
#
# The ports are below the ephemeral ports of Linux. If another process takes one first, the next is tried.
export KINORA_DATA_DIR=$data/kinora KINORA_LOG=warn
for ((tries = 1; ; tries++)); do
  port=$((20000 + RANDOM % 12000))
  address=http://127.0.0.1:$port
  "$kinora" serve --role api,delivery --listen "127.0.0.1:$port" 2>"$data/log" &
  server=$!
  # The server writes `addresses.json` once it listens. Before that, another process may respond on the port.
  until [ -e "$KINORA_DATA_DIR/addresses.json" ] && curl --silent --fail --output /dev/null "$address/readyz"; do
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  ! kill -0 "$server" 2>/dev/null || break
  if [ "$tries" -eq 20 ] || ! grep --quiet 'cannot listen on' "$data/log"; then
    cat "$data/log" && exit 1
  fi
done
# field NAME...: the value at these names in the JSON on standard input.
field() {
  "$python" -c 'import functools, json, sys; print(functools.reduce(
    lambda value, name: value[int(name) if name.isdigit() else name], sys.argv[1:], json.load(sys.stdin)))' "$@"
}
token=$("$kinora" token create --workspace Development --permission read-write --json)
credentials=$(field id <<<"$token"):$(field secret <<<"$token")

# make PATH BODY: creates a resource and prints its JSON.
make() {
  curl --silent --fail --user "$credentials" --header 'Content-Type: application/json' --data "$2" "$address/v1$1"
}
media=$(make /on-demand '{"inputs": [{"type": "video", "url": "https://example.com/talk.mp4"}]}')
upload=$(make /on-demand/upload '{"corsOrigin": "*"}')
key=$(make /iam/signing-keys '{}')
cat >"$data/known.toml" <<KNOWN
[parameters]
mediaId = "$(field data id <<<"$media")"
playbackId = "$(field data playbackIds 0 id <<<"$media")"
uploadId = "$(field data uploadId <<<"$upload")"
signingKeyId = "$(field data id <<<"$key")"
KNOWN
printf '' >"$data/none.toml"

# try NAME OPTION...: one half, with the ids of NAME.toml.
try() {
  (cd "$data" && "$(dirname "$python")/schemathesis" --config-file "$data/$1.toml" run "$address/openapi.json" --auth "$credentials" \
    --checks "$checks" --max-examples "$examples" --continue-on-failure --no-shrink --request-timeout 30 --warnings off \
    --generation-with-security-parameters false "${made[@]}" "${@:2}")
}
status=0
printf '\nWith existing ids; nothing is deleted.\n'
try known --exclude-method DELETE || status=$?
printf '\nWith generated ids and ids from responses.\n'
try none || status=$?
if [ "$status" -ne 0 ]; then
  printf '\nLog of the server:\n'
  tail -n 40 "$data/log"
fi
exit "$status"
