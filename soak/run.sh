#!/usr/bin/env bash
# Starts a PostgreSQL and an S3 of its own and runs the soak beside them; `make soak` calls it after building Kinora.
#
#   KINORA=target/release/kinora soak/run.sh [--media 200] [--seconds 120] [--kill-every 5] [--seed N]
#   KINORA=target/release/kinora soak/run.sh promises
#   KINORA=target/release/kinora soak/run.sh tenants [--place sqlite] [--only hanging]
#   KINORA=target/release/kinora soak/run.sh uploads [--megabytes 2000] [--cuts 50] [--rate 10] [--seed N]
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
KINORA=${KINORA:-$target/release/kinora}
python=$(scripts/python.sh)
KINORA_TEST_WEED=${KINORA_TEST_WEED:-${python%/*}/weed}
export KINORA KINORA_TEST_WEED PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=bench # for what both talk to their servers with

script=main.py
case ${1:-} in
uploads) script=cuts.py ;;
promises) script=promises.py ;;
tenants) script=tenants.py ;;
esac
[[ $script == main.py ]] || shift
exec cargo xtask servers --durable -- "$python" "soak/$script" "$@"
