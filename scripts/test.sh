#!/usr/bin/env bash
# Runs the suites of a set, prints the duration of each, and fails if one fails. See docs/testing.md.
#
#   scripts/test.sh        the tests of every change; `make test` calls it
#   scripts/test.sh all    everything, crash injection at every 2nd or 4th write; `make test-all` calls it
#   scripts/test.sh each   crash injection alone, at every write; `make soak` calls it
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
summary=()
failed=0

# suite NAME COMMAND...
suite() {
  local name=$1 status=passed begin=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@" || { status=FAILED && failed=1; }
  summary+=("$(printf '%-8s %4d s  %s' "$status" $((SECONDS - begin)) "$name")")
}

has_lints() {
  cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1
}

# With cargo-nextest each test is a process with a time limit (.config/nextest.toml). Building it takes
# minutes, so a machine without it uses cargo's own runner.
has_nextest() {
  cargo nextest --version >/dev/null 2>&1
}

# with_second_run DEPLOYMENT COMMAND...: runs cargo-nextest so that a test that fails runs once more.
#
# Many tests run servers or stores with child processes, on a shared machine. A test that passes only in the
# second run is listed at the end: it is a defect of the test or of Kinora. D-0047.
with_second_run() {
  local status=0 deployment=$1
  shift
  "$@" --retries 1 2>&1 | tee "$log" || status=$?
  sed -n 's|^ *FLAKY [^]]*\] *||p' "$log" | sed 's|^([^)]*) *||' | sort -u |
    sed "s|^|SECOND RUN       |; s|\$|$deployment|" >>"$second_runs"
  return "$status"
}

# rust_tests DEPLOYMENT FILTERSET OPTION...: tests of the whole workspace. So the features, and with them the
# build, are the same in each suite.
rust_tests() {
  local deployment=$1 filterset=$2
  shift 2
  KINORA_TEST_ON=$deployment with_second_run " on $deployment" cargo nextest run --workspace --locked --filterset "$filterset" "$@"
}

# Without cargo-nextest there are no profiles: everything runs.
cargo_tests() {
  cargo test --workspace --locked --exclude kinora-server && cargo test --locked --package kinora-server --lib --bins &&
    KINORA_TEST_ON=$sqlite cargo test --locked --package kinora-server --test it -- --skip cluster:: &&
    KINORA_TEST_ON=$postgres cargo test --locked --package kinora-server --test it -- --skip folder::
}

# browser_tests SET: the pages in Chromium, with the binary that the Rust tests have used. A file with a
# failing test runs once more, for the same reason as above.
browser_tests() {
  local status=0 file
  has_nextest || cargo build --quiet --locked --package kinora-server || return
  KINORA_BIN=$(realpath --no-symlinks "$target/debug/kinora")
  export KINORA_BIN
  for file in $(node web/e2e/suite.mjs "$1"); do
    node --test "$file" && continue
    printf '\n%s runs once more\n' "$file"
    if node --test "$file"; then
      printf 'SECOND RUN       %s\n' "$file" >>"$second_runs"
    else
      status=1
    fi
  done
  return "$status"
}

mkdir -p "$target"
KINORA_TEST_PYTHON=$(scripts/python.sh)
KINORA_TEST_WEED=${KINORA_TEST_WEED:-$(dirname "$KINORA_TEST_PYTHON")/weed}
export KINORA_TEST_PYTHON KINORA_TEST_WEED

# Both servers run until the tests end.
if [ -z "${KINORA_TEST_DATABASE_URL:-}" ] || [ -z "${KINORA_TEST_STORAGE_URL:-}" ]; then
  exec cargo xtask servers -- "scripts/${0##*/}" "$@"
fi

log=$(mktemp) second_runs=$(mktemp) lints_log=$(mktemp)
trap 'rm -f "$log" "$second_runs" "$lints_log"' EXIT

readonly sqlite=sqlite+folder postgres=postgres+s3
readonly server='binary_id(kinora-server::it)' fault='test(/^fault::/)'
seed=$(<.config/sample-seed)

# Lints and the browser suite share two cores, so they run at the same time: begin_lints before the suite,
# lints after it.
begin_lints() {
  lints_pid=
  if has_lints || rustup component add rustfmt clippy; then
    nice make --no-print-directory check >"$lints_log" 2>&1 &
    lints_pid=$!
  fi
}

lints() {
  if [ -n "$lints_pid" ]; then
    suite "the rest of formatting, lints, tidy" end_lints
  else
    summary+=("NOT RUN          formatting, lints, tidy: this Rust has neither rustfmt nor clippy")
  fi
}

end_lints() {
  local status=0
  wait "$lints_pid" || status=$?
  cat "$lints_log"
  return "$status"
}

signatures() {
  suite "webhook signatures" "$KINORA_TEST_PYTHON" -B -m unittest discover --start-directory scripts --pattern '*_test.py'
}

# The tests of every change.
change_suites() {
  suite "build" cargo nextest run --workspace --locked --no-run
  suite "crates" rust_tests "$sqlite" "not $server"
  suite "server, SQLite and a folder" rust_tests "$sqlite" "$server and not $fault"
  suite "server, PostgreSQL and S3" rust_tests "$postgres" "not $fault" --profile postgres
  suite "server, PostgreSQL and S3, an eighth" rust_tests "$postgres" "all()" --profile postgres-sample \
    --partition "hash:$((seed % 8 + 1))/8"
  suite "fault, SQLite and a folder" rust_tests "$sqlite" "$server and $fault"
  suite "fault, PostgreSQL and S3" rust_tests "$postgres" "$fault" --profile postgres
  begin_lints
  suite "browser" browser_tests change
  lints
  suite "schemathesis" scripts/schemathesis.sh
  signatures
}

# Everything. Each write with a fault in the suites above gets one here, too.
all_suites() {
  export KINORA_TEST_LIVES=most
  suite "build" cargo nextest run --workspace --locked --no-run
  suite "crates" rust_tests "$sqlite" "not $server" --profile all
  suite "server, SQLite and a folder" rust_tests "$sqlite" "$server and not $fault" --profile all
  suite "server, PostgreSQL and S3" rust_tests "$postgres" "not $fault" --profile all-postgres
  suite "fault, SQLite and a folder" rust_tests "$sqlite" "$server and $fault" --profile all
  suite "fault, PostgreSQL and S3" rust_tests "$postgres" "$fault" --profile all-postgres
  KINORA_E2E_ALL=1 suite "browser" browser_tests long
  begin_lints
  suite "schemathesis" env KINORA_SCHEMATHESIS_EXAMPLES=200 scripts/schemathesis.sh
  lints
  suite "fuzz" scripts/fuzz.sh
  signatures
}

# Crash tests that crash at each write: several times as long as the fault suites above.
each_suites() {
  export KINORA_TEST_LIVES=each
  suite "each write, SQLite and a folder" rust_tests "$sqlite" "$server and $fault" --profile all
  suite "each write, PostgreSQL and S3" rust_tests "$postgres" "$fault" --profile all-postgres
}

case ${1:-change} in
change | all | each) ;;
*)
  echo "scripts/test.sh: $1 is no set of suites; there are change, all and each" >&2
  exit 2
  ;;
esac
printf 'Sample seed: %s (.config/sample-seed)\n' "$seed"
if has_nextest; then
  "${1:-change}_suites"
elif [ "${1:-change}" != change ]; then
  echo "scripts/test.sh: the set $1 needs cargo-nextest: cargo install --locked cargo-nextest" >&2
  exit 2
else
  suite "Rust" cargo_tests
  begin_lints
  suite "browser" browser_tests change
  lints
  suite "schemathesis" scripts/schemathesis.sh
  signatures
fi

printf '\n'
printf '%s\n' "${summary[@]}"
cat "$second_runs"
exit "$failed"
