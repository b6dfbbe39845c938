#!/usr/bin/env bash
# Installs by apt the system packages of a task that are missing on this machine, and prints what it does. If
# none is missing, it does nothing and needs no rights.
#
#   scripts/install.sh web|run|proof|test|bench
set -euo pipefail

NODE_MAJOR_MIN=18 # Debian 12's; the web part is built with nothing newer

packages=() # to be installed

# need COMMAND PACKAGE...: adds these packages if the command is missing.
need() {
  command -v "$1" >/dev/null || packages+=("${@:2}")
}

need_web() {
  need node nodejs
  need npm npm
}

need_run() {
  command -v cargo >/dev/null || fail "Rust is missing: install it from https://rustup.rs and run this again"
  need cc gcc libc6-dev
  need curl curl ca-certificates
  need ffmpeg ffmpeg
  need ffprobe ffmpeg
  need_web
}

need_proof() {
  need_run
  need python3 python3
}

need_test() {
  need_run
  need c++ g++ # libFuzzer comes as source
  need python3 python3 python3-venv
  need openssl openssl # checks encrypted segments
  need jq jq # the examples of the documents
  if command -v python3 >/dev/null && ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    packages+=(python3-venv)
  fi
  need_chromium
  has_postgresql_server || packages+=(postgresql)
}

need_chromium() {
  if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null &&
    ! command -v google-chrome >/dev/null && [ -z "${KINORA_CHROMIUM:-}" ]; then
    packages+=(chromium)
  fi
}

# Debian keeps the servers of all versions away from PATH.
has_postgresql_server() {
  command -v initdb >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

need_bench() {
  need_run
  PATH="$PATH:/usr/sbin" need nginx nginx # Debian installs it into /usr/sbin
  need wrk wrk
  need_chromium
  need python3 python3 python3-venv
  has_postgresql_server || packages+=(postgresql)
}

install_packages() {
  [ ${#packages[@]} -gt 0 ] || return 0
  local list
  list=$(printf '%s\n' "${packages[@]}" | sort -u | tr '\n' ' ')
  command -v apt-get >/dev/null || fail "this machine has no apt: install the equivalent of these Debian packages: $list"

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "neither root nor sudo: ask an administrator for: apt-get install $list"
    as_root=(sudo)
  fi
  echo "Installing by apt, which may take some minutes: $list"
  "${as_root[@]}" apt-get update -qq
  # Debian would create a PostgreSQL cluster and start it at every boot; the tests start their own.
  local no_cluster=/etc/postgresql-common/createcluster.d/kinora-tests.conf
  if [[ " $list" == *" postgresql "* ]]; then
    "${as_root[@]}" mkdir -p "${no_cluster%/*}"
    echo 'create_main_cluster = false' | "${as_root[@]}" tee "$no_cluster" >/dev/null
  fi
  # Progress output is suppressed; errors are on the other stream. The list must be split at spaces.
  # shellcheck disable=SC2086
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $list >/dev/null
  "${as_root[@]}" rm -f "$no_cluster" # a later installation of another version needs its cluster
}

check_node() {
  local version
  version=$(node --version) # v18.20.4
  local major=${version#v}
  major=${major%%.*}
  [ "$major" -ge "$NODE_MAJOR_MIN" ] ||
    fail "Node.js $version is too old, $NODE_MAJOR_MIN is needed: Debian 12 and Ubuntu 24.04 have it"
}

fail() {
  echo "install: $*" >&2
  exit 1
}

case "${1:-}" in
  web | run | proof | test | bench) "need_$1" ;;
  *) fail "usage: scripts/install.sh web|run|proof|test|bench" ;;
esac
install_packages
check_node
