#!/bin/sh
# The kernel sets avx512, avx512fp16 and avx512bf16 by their own instructions, on the emulated CPU of run.py, whatever CPU
# this machine has: the tests of kernels, and for each of a few plans the losses and the digest that this machine gives,
# with one thread and with three. The emulator has no AMX. It does some thirty million instructions a second, fewer of those
# with 16 results, so the tests take one of EVERY cases. Called by `make emulate-x86`, with TESTS and BOCHSCPU set.
#
#     tests/emulated_x86/run.sh [WORD]...        only the tests whose names contain one of the words; plans are called `plans`
set -eu

STEPS=2
EVERY=${EVERY:-1009} # prime, so that every value of each inner loop has its turn
. tests/end_to_end/expectations
sets='avx512 avx512fp16 avx512bf16'

# emulated PROGRAM [ARGUMENT]...
emulated() {
    python3 tests/emulated_x86/run.py "$BOCHSCPU" "$BUILD/emulated_x86.so" "$@"
}

# selected NAME WORD...
selected() {
    [ $# -gt 1 ] || return 0
    wanted=$1
    shift
    for word; do
        case $wanted in *"$word"*) return 0 ;; esac
    done
    return 1
}

if [ "$(uname -m)" != x86_64 ]; then
    echo "skipped: emulated x86: the programs of this machine are not for x86-64"
    exit 0
fi

# --- tests of kernels ---

for test in $TESTS; do
    selected "$(basename "$test")" "$@" || continue
    status=0
    FIRN_TEST_EVERY=$EVERY FIRN_TEST_EMULATED=1 FIRN_TEST_SETS=$sets emulated "$test" >"$folder/log" 2>&1 || status=$?
    if [ $status -eq 0 ]; then
        echo "passed  $(basename "$test")"
    else
        failures=$((failures + 1))
        echo "FAILED  $(basename "$test"), exit $status"
        tail -n 15 "$folder/log" | sed 's/^/    /'
    fi
done

# --- plans ---

# train OUT THREADS COMMAND...: the losses and the digest of a run of the current plan.
train() {
    out=$1
    threads=$2
    shift 2
    rm -f "$folder/steps"
    "$@" train "$folder/plan" --pub "$folder/test.pub.pem" --data "$folder/text" --steps $STEPS --threads "$threads" \
        --log "$folder/steps" --quiet >"$folder/said" 2>&1 || true
    {
        sed -n 's/.*"step":\([0-9]*\),.*"loss_bits":"\([0-9a-f]*\)".*/step \1 loss \2/p' "$folder/steps"
        grep '^digest ' "$folder/said"
    } >"$out" || sed 's/^/    /' "$folder/said"
}

# check NAME TARGET SETTING...: bits that sums in the portable order would also have could show no wrong order.
check() {
    name=$1
    target=$2
    shift 2
    for setting; do
        set -- "$@" --set "trainer.init.precision.$setting"
        shift
    done
    for order in portable "$target"; do
        "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" -o "$folder/plan" \
            --target $order "$@" >"$folder/log"
        train "$folder/$order" 2 "$FIRN"
    done
    mv "$folder/$target" "$folder/expected"
    [ "$target" = portable ] || ! cmp -s "$folder/portable" "$folder/expected" ||
        fail "$name: the bits are those of sums in the portable order"
    [ "$(wc -l <"$folder/expected")" -eq $((STEPS + 1)) ] || fail "$name: not $STEPS losses and a digest here"
    for kernels in $sets; do
        for threads in 1 3; do
            FIRN_KERNELS=$kernels train "$folder/emulated" $threads emulated "$FIRN"
            cmp -s "$folder/expected" "$folder/emulated" || fail "$name differs, set $kernels, $threads threads"
        done
    done
    echo "compared  $name"
}

if selected plans "$@"; then
    "$FIRNC" keygen "$folder/test" >"$folder/log"
    cp /usr/share/common-licenses/GPL-3 "$folder/text"
    check "GPT-2, float16, chunked" portable fp16_type=float16 loss_scaling_factor=dynamic precision_opt_level=1 \
        pol_lowering=emulate
    check "GPT-2, bfloat16, pairs" avx512-bf16 fp16_type=bfloat16 pol_lowering=native gradient_type=float32
fi

[ $failures -eq 0 ]
