#!/usr/bin/env bash
# Proves that sources play; `make sources` and `make quality` call it after building Kinora.
#
#   KINORA=target/release/kinora proof/run.sh sources [FILE...]
set -euo pipefail
cd "$(dirname "$0")/.."

export PROOF_TARGET=${CARGO_TARGET_DIR:-target}
export KINORA=${KINORA:-$PROOF_TARGET/release/kinora}
export PYTHONPATH=bench PYTHONDONTWRITEBYTECODE=1 # bench: for servers, clips and playlists

exec python3 proof/main.py "$@"
