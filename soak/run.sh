#!/usr/bin/env bash
# Starts PostgreSQL and S3 and runs a soak test on them; `make soak` calls it after building Kinora.
#
#   KINORA=target/release/kinora soak/run.sh [--media 200] [--seconds 120] [--kill-every 5] [--seed N]
#   KINORA=target/release/kinora soak/run.sh time-limits
#   KINORA=target/release/kinora soak/run.sh tenants [--deployment sqlite] [--only hanging]
#   KINORA=target/release/kinora soak/run.sh uploads [--megabytes 2000] [--interruptions 50] [--rate 10]
#                                                   [--seed N]
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
KINORA=${KINORA:-$target/release/kinora}
python=$(scripts/python.sh)
KINORA_TEST_WEED=${KINORA_TEST_WEED:-${python%/*}/weed}
export KINORA KINORA_TEST_WEED PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=bench # for loopback.py and padded_clip.py

script=main.py
case ${1:-} in
uploads) script=upload_interruptions.py ;;
time-limits) script=time_limits.py ;;
tenants) script=tenants.py ;;
esac
[[ $script == main.py ]] || shift
exec cargo xtask servers --durable -- "$python" "soak/$script" "$@"
