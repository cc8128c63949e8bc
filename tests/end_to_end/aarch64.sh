#!/bin/sh
# The same bits on AArch64: firnc, firn and the tests of kernels, compiled by `make aarch64` with clang, run under
# qemu-aarch64. firnc there writes the plans of this machine's firnc byte for byte. For each plan the kernel sets plain and neon,
# and neonfp16 where sums are float16, with one thread and with three, give the losses and the digest that this machine gives.
# Emulation is slow, so the tests of kernels take part of their cases (FIRN_TEST_EVERY, FIRN_TEST_EMULATED). The emulated CPU has FEAT_FP16; one
# without it is asked for only where the choice of a set or a target is tested.
#
# Needs: aarch64 signing
set -eu

STEPS=3
. tests/end_to_end/expectations
emulated=$BUILD/aarch64
libraries=.cache/aarch64

if [ "$(uname -m)" = aarch64 ]; then
    echo "skipped: emulated AArch64: this machine is one, and the other tests run on it"
    exit 0
fi
if [ ! -x "$emulated/firn" ]; then
    echo "$emulated/firn is missing; make test builds it" >&2
    exit 1
fi

# on_aarch64 PROGRAM [ARGUMENT]...: on a CPU with everything that the emulator has, or on $cpu.
cpu=max
on_aarch64() {
    qemu-aarch64 -cpu $cpu -L /usr/aarch64-linux-gnu \
        -E LD_LIBRARY_PATH="$PWD/$libraries/usr/lib/aarch64-linux-gnu:$PWD/$libraries/lib/aarch64-linux-gnu" "$@"
}

# --- tests of kernels ---

for test in "$emulated"/tests/test_*; do
    [ -x "$test" ] && takes_next || continue
    every=29
    [ "$(basename "$test")" != test_kernels_chunked ] || every=1
    FIRN_TEST_EVERY=$every FIRN_TEST_EMULATED=1 FIRN_TEST_SETS="neon neonfp16" on_aarch64 "$test" >"$folder/log" 2>&1 || {
        failures=$((failures + 1))
        echo "FAILED: $(basename "$test")"
        tail -n 15 "$folder/log" | sed 's/^/    /'
    }
done

# --- plans ---

"$FIRNC" keygen "$folder/test" >"$folder/log"
PUB=$folder/test.pub.pem
licences=/usr/share/common-licenses
cat $licences/GPL-3 $licences/GPL-2 >"$folder/text"
{
    printf '\0\0\010\003\0\0\0\100\0\0\0\034\0\0\0\034'
    head -c $((64 * 784)) "$folder/text"
} >"$folder/images"
{
    printf '\0\0\010\001\0\0\0\100'
    head -c 64 "$folder/text" | tr -c 'a-i' 'j' | tr 'a-j' '\000-\011'
} >"$folder/labels"
{
    printf '\0\0\010\003\0\0\0\100\0\0\0\012\0\0\0\050'
    head -c $((64 * 400)) "$folder/text"
} >"$folder/rows"
# Ten float32 numbers from 0.5 to 2 for each record.
{
    printf '\0\0\015\002\0\0\0\100\0\0\0\012'
    head -c 640 "$folder/text" | od -A n -v -t o1 -w1 | while read -r byte; do
        printf "\\077\\$byte\\0\\0"
    done
} >"$folder/targets"
compared=0

# train OUT THREADS COMMAND...: the losses and the digest of a run of the current plan.
train() {
    out=$1
    threads=$2
    shift 2
    rm -f "$folder/steps"
    "$@" train "$plan" --pub "$PUB" --data "$data" ${labels:+--labels "$labels"} --steps $STEPS \
        --threads "$threads" --log "$folder/steps" --quiet >"$folder/said" 2>&1 || true
    {
        sed -n 's/.*"step":\([0-9]*\),.*"loss_bits":"\([0-9a-f]*\)".*/step \1 loss \2/p' "$folder/steps"
        grep '^digest ' "$folder/said"
    } >"$out" || sed 's/^/    /' "$folder/said"
}

# Compares the runs of the current plan, $name.
compare() {
    train "$folder/expected" 2 "$FIRN"
    [ "$(wc -l <"$folder/expected")" -eq $((STEPS + 1)) ] || fail "$name: not $STEPS losses and a digest here"
    for kernels in $sets; do
        for threads in 1 3; do
            train "$folder/got" $threads on_aarch64 -E FIRN_KERNELS=$kernels "$emulated/firn"
            compared=$((compared + 1))
            cmp -s "$folder/expected" "$folder/got" || fail "$name differs on AArch64, set $kernels, $threads threads"
        done
    done
}

# check NAME RECIPE [SETTING]...
check() {
    takes_next || return 0
    name=$1
    recipe=compiler/recipes/$2.yaml
    plan=$folder/plan
    shift 2
    for setting in "$@"; do
        set -- "$@" --set "trainer.init.$setting"
        shift
    done
    set -- "$@" --target "$target"
    "$FIRNC" compile "$recipe" --mode train --key "$folder/test.key.pem" -o "$plan" "$@" >"$folder/log"
    on_aarch64 "$emulated/firnc" compile "$recipe" --mode train --key "$folder/test.key.pem" -o "$plan.there" "$@" \
        >"$folder/log"
    cmp -s "$plan" "$plan.there" || fail "$name: firnc on AArch64 writes another plan"
    compare
}

# same_import FILE: an ONNX file becomes the same plan. An argument of a call may make nodes of a graph only if no other
# argument does, because compilers evaluate arguments in different orders.
same_import() {
    compared=$((compared + 1))
    set -- "$1" compile compiler/recipes/small_mlp.yaml --mode train --key "$folder/test.key.pem" --set \
        "trainer.init.model={onnx: $PWD/$1, loss: mean_squared_error}" --set trainer.init.precision=null \
        --set trainer.validate=null --set "trainer.fit.train_dataloader={batch_size: 4, label_type: float32}"
    file=$1
    shift
    "$FIRNC" "$@" -o "$folder/here" >"$folder/log" 2>&1 && on_aarch64 "$emulated/firnc" "$@" -o "$folder/there" >"$folder/log" 2>&1 &&
        cmp -s "$folder/here" "$folder/there" || fail "$file: firnc on AArch64 writes another plan"
}
for form in nested norms attention attention_no_bias; do
    same_import tests/onnx/forms/$form.script.onnx
done

sets="plain neon"
float16="precision.fp16_type=float16 precision.loss_scaling_factor=dynamic"
bfloat16="precision.fp16_type=bfloat16"
cbfloat16="precision.fp16_type=cbfloat16 precision.loss_scaling_factor=dynamic"
pol() {
    echo "precision.precision_opt_level=$1 precision.pol_lowering=emulate"
}

# The settings are split into words on purpose.
data=$folder/text labels= target=portable
check "GPT-2, float32" small_gpt2 precision.enabled=false
check "GPT-2, float16, POL 0" small_gpt2 $float16 precision.precision_opt_level=0
sets="plain neon neonfp16"
check "GPT-2, float16, chunked attention" small_gpt2 $float16 $(pol 2)
sets="plain neon"
check "GPT-2, bfloat16, chunked" small_gpt2 $bfloat16 $(pol 1)
check "LLaMA, cbfloat16, chunked attention" small_llama $cbfloat16 $(pol 2)
target=amx-bf16
check "GPT-2, bfloat16, even_odd_blocks" small_gpt2 $bfloat16 precision.pol_lowering=native
target=avx512-bf16
check "GPT-2, bfloat16, pairs" small_gpt2 $bfloat16 precision.pol_lowering=native
data=$folder/images labels=$folder/labels target=avx512fp16
sets="plain neon neonfp16"
check "MLP, float16, chunked" small_mlp $float16 precision.precision_opt_level=1
sets="plain neon" target=portable
check "MLP, float32, wide enough to be divided among threads" small_mlp precision.enabled=false 'model.hidden_sizes=[300,300]'
check "LeNet, float32" small_lenet precision.enabled=false
check "LeNet, bfloat16, chunked" small_lenet $bfloat16 $(pol 1)

# A plan of all recurrent ops, over four steps of ten samples with 40 features each.
${CC:-gcc} -std=c11 -I. tests/end_to_end/recurrent_plan.c tests/unit/support_recurrent.c "$BUILD/libfirnc.a" \
    "$BUILD/libsigning.a" "$BUILD/libfirn.a" -lyaml -lcjson -lz -lm -o "$folder/recurrent_plan"
data=$folder/rows labels=$folder/targets plan=$folder/plan
for case in "float32 0" "bfloat16 1"; do
    takes_next || continue
    name="recurrent, $case"
    "$folder/recurrent_plan" "$folder/test.key.pem" "$plan" 10 40 6 $case
    compare
done

# --- a CPU without float16 ---

data=$folder/images labels=$folder/labels
freeze() {
    on_aarch64 "$emulated/firnc" compile compiler/recipes/small_mlp.yaml --mode train --key "$folder/test.key.pem" \
        --target host -o "$folder/plan" --set trainer.init.precision.fp16_type=float16 \
        --set trainer.init.precision.loss_scaling_factor=dynamic --set trainer.init.precision.precision_opt_level=1
}
step() {
    on_aarch64 "$@" "$emulated/firn" train "$folder/plan" --pub "$PUB" --data "$data" --labels "$labels" --steps 1 --quiet
}
freeze >"$folder/got" || fail "firnc compile --target host on a CPU with float16"
grep -q '^target: avx512fp16: this CPU multiplies and adds float16 (FEAT_FP16)' "$folder/got" ||
    fail "--target host on a CPU with float16"
cpu=cortex-a72
expect "a set that this CPU lacks" 2 'KERNELS_UNKNOWN.*one that this machine can run: plain, neon$' \
    step -E FIRN_KERNELS=neonfp16
expect "the set of a CPU without float16" 0 '' step
freeze >"$folder/got" || fail "firnc compile --target host on a CPU without float16"
grep -q '^target: portable: this CPU adds no products of float16 faster' "$folder/got" ||
    fail "--target host on a CPU without float16"

[ $failures -eq 0 ] || exit 1
echo "$compared runs on emulated AArch64 equal those of this machine"
