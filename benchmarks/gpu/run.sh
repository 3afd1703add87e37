#!/usr/bin/env bash
# Runs a part of what paceline has to show on a GPU; see README.md beside this script.
# Usage: run.sh PART [-o DIR] [--cpu], with PART one of tests equal graph resume pinned memory cascade sanitizer speed all
set -euo pipefail
kit=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
python=${PACELINE_PYTHON:-python3}
if ! command -v "$python" >/dev/null; then
  echo "run.sh: $python is not there: set PACELINE_PYTHON to a Python 3 that can import torch 2.11.0" >&2
  exit 2
fi
exec "$python" -B "$kit/scripts/run_part.py" "$@"
