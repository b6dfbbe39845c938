#!/usr/bin/env bash
# Builds the baselines and measures Kinora against them; `make bench` calls it after building Kinora.
#
#   KINORA=target/release/kinora bench/run.sh [NAME ...] [--deployment sqlite|postgres]
#
# NAME: ready, segments, reads, deliveries, memory, commits, encoded-ready, on-demand, backfill, audio,
# firstframe, uploads, lists, creation, storyboard, access, cutting, watermark, loudness, dashboard.
set -euo pipefail
cd "$(dirname "$0")/.."

export BENCH_TARGET=${CARGO_TARGET_DIR:-target}
export KINORA=${KINORA:-$BENCH_TARGET/release/kinora}
export PYTHONDONTWRITEBYTECODE=1

cargo build --quiet --release --locked --package kinora-yardstick
python=$(scripts/python.sh)
export KINORA_TEST_WEED=${KINORA_TEST_WEED:-${python%/*}/weed}
exec cargo xtask servers --durable -- "$python" bench/main.py "$@"
