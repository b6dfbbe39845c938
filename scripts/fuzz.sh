#!/usr/bin/env bash
# Fuzzes the parsers of MP4, Matroska and subtitles for one minute, or for KINORA_FUZZ_SECONDS. The corpus is
# stored in the target folder, so each run continues the last one. A failing input is written to a file;
# reproduce it with
#   scripts/fuzz.sh FILE
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-target}")/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')

# libFuzzer's counters work with a stable compiler; libFuzzer itself is source, built by g++.
# With --target the flags apply to the fuzzed code, not to build scripts.
counters="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
RUSTFLAGS=$(echo $counters) CARGO_TARGET_DIR=$target \
  cargo build --quiet --locked --release --manifest-path fuzz/Cargo.toml --target "$host"
fuzzer=$target/$host/release/kinora-fuzz

if [ $# -gt 0 ]; then
  exec "$fuzzer" "$@"
fi

mkdir -p "$target/corpus" "$target/found"
log=$target/last.log
limits=(-max_total_time="${KINORA_FUZZ_SECONDS:-60}" -max_len=8192 -timeout=20 -rss_limit_mb=1024)
if "$fuzzer" "${limits[@]}" -artifact_prefix="$target/found/" -print_final_stats=1 \
  "$target/corpus" fuzz/seeds >"$log" 2>&1; then
  grep -E '^stat::(number_of_executed_units|peak_rss_mb)|^Done' "$log"
else
  grep -vE '^#|^NEW|^==.*(INFO|WARNING)' "$log" | tail -n 40 >&2
  echo "The whole log: $log" >&2
  exit 1
fi
