#!/bin/sh
# Ten minutes of training on one GPU: train, export, check the size, evaluate. Usage: training/ten_minutes.sh ENV [DIR]
set -eu
env=${1:?an environment, see audamir list}
out=${2:-runs/ten-minutes}

# A GPU wants many games at once and gradient steps without small parts.
audamir train "$env" --preset full --minutes 8 --out "$out" \
    --channels 64 --blocks 6 --lanes 1024 --batch 2048 --microbatch 2048 --simulations 32 --fast-simulations 8 \
    --warmup-positions 150000 --window-positions 500000 --replay-positions 4000000 --decay-positions 8000000 \
    --save-minutes 4 --evaluate-minutes 0
audamir export "$out" "$out/level" --last
size=$(wc -c < "$out/level/zero.safetensors")
[ "$size" -lt 3000000 ] || { echo "the level has $size bytes, over 3 MB" >&2; exit 1; }
for level in weak normal strong; do
    audamir evaluate "$env" "$out/level/zero.safetensors:simulations=64" "$level" --games 200 --opening-plies 2 \
        --json "$out/against-$level.json"
done
audamir plot "$out"
