#!/usr/bin/env bash
# Runs every suite, tells how long each took, and fails if one did. `make test` calls it after installing.
#
#   scripts/test.sh              all suites
#   scripts/test.sh each-write   only the bad days, at each write of every life instead of at some; `make soak` calls it
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

# With cargo-nextest each test is a process with a time limit (.config/nextest.toml). Building it takes minutes, so a
# machine without it uses cargo's own runner.
has_nextest() {
  cargo nextest --version >/dev/null 2>&1
}

# twice PLACE COMMAND...: runs cargo-nextest so that a test that fails runs once more.
#
# Many are whole servers or stores with children and peers, on a machine that others may share. What passed only then is named at
# the end: it is a defect, of the test or of Kinora. Decision 0047.
twice() {
  local status=0 place=$1
  shift
  "$@" --retries 1 2>&1 | tee "$log" || status=$?
  sed -n 's|^ *FLAKY [^]]*\] *||p' "$log" | sed 's|^([^)]*) *||' | sort -u |
    sed "s|^|SECOND RUN       |; s|\$|$place|" >>"$second_runs"
  return "$status"
}

# All Rust tests but those of the whole server.
crate_tests() {
  if has_nextest; then
    twice "" cargo nextest run --workspace --locked --filterset 'not binary_id(kinora-server::it)'
  else
    cargo test --workspace --locked --exclude kinora-server && cargo test --locked --package kinora-server --lib --bins
  fi
}

# server_tests PAIR SUITE: one folder of the server's tests, on one pair of database and object store.
server_tests() {
  if has_nextest; then
    # The whole workspace again: features, and with them what was built, are those of the run before.
    KINORA_TEST_ON=$1 twice " on $1" cargo nextest run --workspace --locked --ignore-default-filter \
      --filterset "binary_id(kinora-server::it) and test(/^$2::/)"
  else
    KINORA_TEST_ON=$1 cargo test --locked --package kinora-server --test it "$2::"
  fi
}

# The player page, and what `make run` ends in with the binary that the Rust tests have just used. A file with a failing test
# runs once more, for the same reason as above.
browser_tests() {
  local status=0 file
  cargo build --quiet --locked --package kinora-server || return
  KINORA_BIN=$(realpath --no-symlinks "$target/debug/kinora")
  export KINORA_BIN
  for file in web/e2e/*.test.mjs; do
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

# Both servers run as long as the tests do.
if [ -z "${KINORA_TEST_DATABASE_URL:-}" ] || [ -z "${KINORA_TEST_STORAGE_URL:-}" ]; then
  exec cargo xtask servers -- "scripts/${0##*/}" "$@"
fi

log=$(mktemp) second_runs=$(mktemp)
trap 'rm -f "$log" "$second_runs"' EXIT

# What every change has to pass.
all_suites() {
  if has_lints || rustup component add rustfmt clippy; then
    suite "formatting, lints, tidy" make --no-print-directory check
  else
    summary+=("NOT RUN          formatting, lints, tidy: this Rust has neither rustfmt nor clippy")
  fi
  suite "crates" crate_tests
  for suite in api private upload events command media fault folder; do
    suite "server: $suite, SQLite and a folder" server_tests sqlite+folder "$suite"
  done
  for suite in api private upload events command media fault shared; do
    suite "server: $suite, PostgreSQL and S3" server_tests postgres+s3 "$suite"
  done
  suite "browser" browser_tests
  suite "schemathesis" scripts/schemathesis.sh
  suite "fuzz" scripts/fuzz.sh
  suite "judge of signatures" "$KINORA_TEST_PYTHON" -B -m unittest discover --start-directory scripts --pattern '*_test.py'
}

# Every life with a bad day at each of its writes: several times as long as the same suites above.
each_write_suites() {
  export KINORA_TEST_EACH_WRITE=1
  suite "each write, SQLite and a folder" server_tests sqlite+folder fault
  suite "each write, PostgreSQL and S3" server_tests postgres+s3 fault
}

case ${1:-all} in
all) all_suites ;;
each-write) each_write_suites ;;
*)
  echo "scripts/test.sh: $1 is no set of suites; there are all and each-write" >&2
  exit 2
  ;;
esac

printf '\n'
printf '%s\n' "${summary[@]}"
cat "$second_runs"
exit "$failed"
