#!/bin/sh
# demo_mpi.sh [RANKS]: freezes a small GPT-2 whose micro-batches are added as a tree, and trains it in one process and in so
# many processes of mpirun (default: 4), which end with the same digest. Called by `make demo-mpi`; OUT is the folder.
set -eu

BUILD=${BUILD:-build}
OUT=${OUT:-$BUILD/demo-mpi}
RANKS=${1:-4}
# Containers are often without another user, and mpirun asks root for these.
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

rm -rf "$OUT"
mkdir -p "$OUT"
"$BUILD/firnc" keygen "$OUT/demo"
"$BUILD/firnc" compile compiler/recipes/small_gpt2.yaml --mode train --key "$OUT/demo.key.pem" -o "$OUT/demo.plan" \
    --set trainer.init.loop.micro_batch_order=tree --set trainer.fit.train_dataloader.batch_size=16
set -- train "$OUT/demo.plan" --pub "$OUT/demo.pub.pem" --data README.md
echo "== One process"
"$BUILD/firn" "$@" --checkpoint "$OUT/one.ckpt" | tee "$OUT/one"
echo "== mpirun -n $RANKS firn-mpi $*"
mpirun --oversubscribe -n "$RANKS" "$BUILD/firn-mpi" "$@" --checkpoint "$OUT/ranks.ckpt" | tee "$OUT/ranks"
cmp "$OUT/one" "$OUT/ranks"
echo "The two digests are equal."
