#!/bin/sh
# Twenty training steps of each network of MLPerf Tiny, then an evaluation by the running statistics of its batch norms, and
# likewise of a compact convolutional transformer, compared with PyTorch (tests/golden/norm_networks.py): the losses are within 1e-6 of its float64, relative, or no further from it than
# twice PyTorch's float32 gets. Initial weights and statistics are PyTorch's state_dict. What was trained is written as
# one, read again by a run that changes nothing, and evaluated with equal bits.
set -eu
BUILD=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
golden=tests/golden/norm_networks
status=0

# compiled NETWORK MODE WEIGHTS [OPTION]...: makes $work/MODE.plan.
compiled() {
    set -- "$@" --set trainer.init.precision.enabled=false \
        --set trainer.validate.metric=loss --set trainer.fit.train_dataloader.shuffle=false \
        --set trainer.fit.train_dataloader.held_out_per_mille=0 \
        --set 'trainer.init.optimizer={AdamW: {betas: [0.9, 0.95], eps: 1.0e-6, weight_decay: 0.01}}'
    [ "$1" != mobilenet ] || set -- "$@" --set trainer.init.model.batch_norm_epsilon=0.1
    [ "$1" != cct ] || set -- "$@" --set trainer.init.model.dropout_rate=0 --set trainer.init.model.attention_dropout_rate=0
    recipe=compiler/recipes/small_$1.yaml
    mode=$2
    weights=$3
    shift 3
    "$BUILD/firnc" compile "$recipe" --mode "$mode" --key "$work/key.key.pem" --weights "$weights" "$@" \
        -o "$work/$mode.plan" >"$work/out" 2>&1 || {
        cat "$work/out"
        exit 1
    }
}

# trained NETWORK: trains $work/train.plan from the beginning.
trained() {
    labels=${golden}_labels.npy
    [ "$1" != autoencoder ] || labels=
    rm -f "$work/trained" "$work/log"
    "$BUILD/firn" train "$work/train.plan" --pub "$work/key.pub.pem" --data "${golden}_$1.npy" ${labels:+--labels "$labels"} \
        --quiet --log "$work/log" --checkpoint "$work/trained" >/dev/null
}

# evaluated NETWORK: the mean loss of all records.
evaluated() {
    labels=${golden}_labels.npy
    [ "$1" != autoencoder ] || labels=
    "$BUILD/firn" eval "$work/eval.plan" --pub "$work/key.pub.pem" --data "${golden}_$1.npy" ${labels:+--labels "$labels"} \
        --checkpoint "$work/trained"
}

rate=trainer.init.schedulers.0.ConstantLR.learning_rate
"$BUILD/firnc" keygen "$work/key" >/dev/null
for network in resnet8 ds_cnn mobilenet autoencoder cct; do
    compiled $network train ${golden}_$network.safetensors --set trainer.init.loop.num_steps=20 --set $rate=1.0e-3
    compiled $network eval ${golden}_$network.safetensors
    trained $network
    sed -n 's/.*"step":.*"loss": *\([^,}]*\),.*/\1/p' "$work/log" >"$work/losses"
    evaluated $network >"$work/result"
    apart=$(cat "$work/losses" "$work/result" | paste -d ' ' - ${golden}_$network.losses | awk '
        function apart(x) { x = (x - $2) / $2; return x < 0 ? -x : x }
        { if (apart($1) > most) most = apart($1); if (apart($3) > single) single = apart($3) }
        END { bound = 2 * single > 1e-6 ? 2 * single : 1e-6
              printf "%s: %d losses, %.1e from PyTorch, bound %.1e\n", NR == 21 && most <= bound ? "ok" : "failed", NR, most, bound }')
    echo "$apart ($network)"
    [ "${apart%%:*}" = ok ] || status=1

    "$BUILD/firn" export "$work/trained" -o "$work/own.safetensors" >/dev/null
    "$BUILD/firnc" weights "compiler/recipes/small_$network.yaml" --trained "$work/own.safetensors" \
        -o "$work/state_dict.safetensors" >/dev/null
    momentum=trainer.init.model.batch_norm_momentum
    [ $network != cct ] || momentum= # it has no batch norm
    compiled $network train "$work/state_dict.safetensors" --set trainer.init.loop.num_steps=1 --set $rate=0 \
        ${momentum:+--set $momentum=0}
    trained $network
    evaluated $network >"$work/again"
    cmp -s "$work/result" "$work/again" || {
        echo "failed: $network: evaluated as $(cat "$work/result"), and as $(cat "$work/again") from its state_dict"
        status=1
    }
done
exit $status
