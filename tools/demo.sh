#!/usr/bin/env bash
# The main job on small data: make it, train over two ranks, evaluate, stop in the middle, resume.
# Usage: tools/demo.sh BUILD
set -euo pipefail
root=$(cd "$(dirname "$(readlink -f "$0")")/.." && pwd)
paceline=$1/bin/paceline
work=$1/demo
run=$work/run

say() { printf '\n== %s\n' "$*"; }

# A number also while the run has no metrics.jsonl.
count_evaluations() { cat run/metrics.jsonl 2>/dev/null | grep -c '"event":"eval"' || true; }

mkdir -p "$work"
cd "$work"
rm -rf run

say "synthesising a JPEG data set in $work/shapes"
"$paceline" data synth shapes --classes 8 --train-per-class 400 --val-per-class 60 \
  --min-size 56 --max-size 96

say "training resnet18 over two ranks with DDP; it will be stopped after two of five epochs"
"$paceline" train "$root/recipes/demo.yaml" --nproc 2 --run-dir run &
launcher=$!
trap 'kill "$launcher" 2>/dev/null || true' EXIT
while kill -0 "$launcher" 2>/dev/null; do
  if [ "$(count_evaluations)" -ge 2 ]; then break; fi
  sleep 0.2
done
say "sending SIGTERM: all ranks finish the same step and save"
kill -TERM "$launcher"
code=0
wait "$launcher" || code=$?
trap - EXIT
[ "$code" -eq 143 ] || { echo "demo: expected exit code 143 (128 + SIGTERM), got $code" >&2; exit 1; }

say "resuming from the newest checkpoint"
"$paceline" train "$root/recipes/demo.yaml" --nproc 2 --run-dir run --resume auto

say "evaluating the newest checkpoint on one rank"
"$paceline" eval run --json | tee run/eval.json

say "exporting the weights for Python (torchvision's names)"
"$paceline" export run --format safetensors -o run/resnet18.safetensors

python3 - run/eval.json <<'PYTHON'
import json, sys
top1 = json.load(open(sys.argv[1]))["metrics"]["val/top1"]
print(f"\n== top-1 on the validation images: {100 * top1:.1f} %")
sys.exit(0 if top1 >= 0.9 else "demo: expected at least 90 %")
PYTHON

cat <<TEXT

The run lies in $run:
  config.yaml       the recipe with every value resolved
  metrics.jsonl     every step and evaluation; events.out.tfevents.* the same for TensorBoard
  system.jsonl      what the ranks used of the machine meanwhile
  checkpoints/      the newest and the best; paceline eval and paceline export read them
  summary.json      how it ended
TEXT
