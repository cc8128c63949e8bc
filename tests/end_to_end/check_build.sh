#!/bin/sh
# A build with CHECK=1 (runtime/check/check.h) computes the digests of the other, traces the same lines with every kernel set
# and number of threads, and stops at each fault that it checks for. The build without CHECK has none of it.
set -eu

. tests/end_to_end/expectations

DATA=/usr/share/common-licenses/GPL-3
checked=$BUILD/check
# Of the kernel sets only avx2, or neon: the others take long to compile.
make -s --no-print-directory CHECK=1 PORTABLE= LEAVE_OUT='fma avx512 avx512fp16 amx avx512bf16 neonfp16' BUILD="$checked" \
    "$checked/firn" >"$folder/out" 2>&1 </dev/null || fail "CHECK=1 does not build"

"$FIRNC" keygen "$folder/test" >"$folder/out"
# compile NAME BETA
compile() {
    "$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" -o "$folder/$1.plan" \
        --set "trainer.init.optimizer.AdamW.betas=[$2, 0.95]" >"$folder/log"
}
compile plan 0.9
compile other 0.5

# train FIRN NAME [OPTION]...: 40 steps, more than the ops of which one is compared
train() {
    firn=$1
    plan=$2
    shift 2
    "$firn" train "$folder/$plan.plan" --pub "$folder/test.pub.pem" --data "$DATA" --quiet --steps 40 "$@"
}
# traced NAME COMMAND...: the command with its trace in $folder/NAME
traced() {
    trace=$folder/$1
    shift
    FIRN_TRACE=$trace "$@"
}

# --- digests and traces ----------------------------------------------------------------------------------------------

expect "without CHECK" 0 "" traced none train "$FIRN" plan
cp "$folder/out" "$folder/digest"
[ ! -e "$folder/none" ] || fail "a build without CHECK writes a trace"
! nm "$FIRN" | grep -q firn_check_run || fail "a build without CHECK has the checks"
expect "with CHECK" 0 "" traced first train "$checked/firn" plan --threads 1
cmp -s "$folder/out" "$folder/digest" || fail "CHECK=1 changes the digest"
[ "$(grep -c '^step [0-9]*\.[01] op [0-9]* [a-z_0-9]*\( [0-9]*:[0-9a-f]\{16\}\)*$' "$folder/first")" -eq \
    "$(wc -l <"$folder/first")" ] || fail "a line of another form: $(head -n 3 "$folder/first")"
[ "$(cut -d ' ' -f 1,2 "$folder/first" | cut -d . -f 1 | sort -u | wc -l)" -eq 40 ] || fail "not 40 steps in the trace"
expect "with threads" 0 "" traced threads train "$checked/firn" plan --threads 3
FIRN_KERNELS=plain expect "portable kernels" 0 "" traced plain train "$checked/firn" plan
for name in threads plain; do
    diff "$folder/first" "$folder/$name" | head -n 4 >"$folder/out"
    [ ! -s "$folder/out" ] || fail "$name: another trace"
done
# With another beta the first op that differs is one of the optimizer.
expect "another beta" 0 "" traced other train "$checked/firn" other
diff "$folder/first" "$folder/other" | sed -n 2p >"$folder/out"
grep -q '^< step 0\.[01] op [0-9]* advance_power ' "$folder/out" || fail "the first op that differs is no advance_power"

# --- faults ----------------------------------------------------------------------------------------------------------

cat >"$folder/faults.c" <<'end'
#include <stdlib.h>
#include <string.h>

#include "runtime/check/check.h"

static _Alignas(64) float block[64];

/* In place of the library's choice, which needs every kernel set. */
const firn_kernel_set *firn_kernel_set_choose(const char *name) {
    static const firn_kernel_set plain = {.name = "plain", .find = firn_kernel_find};
    return strcmp(name, "plain") == 0 ? &plain : NULL;
}

static void wrong(const firn_kernel_call *call) {
    for (size_t i = 0; i < call->outputs[0].elements; i++)
        ((float *)call->outputs[0].data)[i] = 7;
}

/* Runs relu, or SGD, of 16 elements of `block` with one fault. */
int main(int count, char **words) {
    (void)count;
    const char *fault = words[1];
    const uint32_t extent = 16, one = 1;
    const bool sgd = strcmp(fault, "gradient") == 0;
    float outside[16] = {0};
    block[0] = -1;
    block[17] = sgd ? 1.0f / 0.0f : 0.5f;
    firn_tensor inputs[3] = {{.data = block, .elements = 16, .dims = &extent, .rank = 1},
                             {.data = block + 16, .elements = 16, .dims = &extent, .rank = 1},
                             {.data = block + 48, .elements = 1, .dims = &one, .rank = 1}};
    firn_tensor output = {.data = sgd ? block : block + 32, .elements = 16, .dims = &extent, .rank = 1};
    if (strcmp(fault, "overlap") == 0)
        output.data = block + 8;
    if (strcmp(fault, "region") == 0)
        output.data = outside;
    const firn_moment moment = {.global_step = 31};
    const firn_kernel_call call = {
        .inputs = inputs, .outputs = &output, .input_count = sgd ? 3 : 1, .output_count = 1, .moment = &moment,
        .integers = (int64_t[]){0}, .reals = (float[]){0}};
    const uint8_t *const blocks[] = {(const uint8_t *)block};
    const uint64_t bytes[] = {sizeof block};
    const firn_checked_op op = {.code = sgd ? FIRN_OP_sgd : FIRN_OP_relu, .gradients_are_finite = sgd, .regions = 1,
                                .blocks = blocks, .bytes = bytes};
    firn_check_run(&op, strcmp(fault, "kernel") == 0 ? wrong : firn_kernel_find(op.code, NULL).run, &call);
    return block[32] == 0 ? 0 : 1;
}
end
plain=
! nm "$checked/libfirn.a" 2>/dev/null | grep -q ' firn_kernel_find_plain$' || plain=-Dfirn_kernel_find=firn_kernel_find_plain
# $plain is empty or one word.
gcc -std=c11 -O1 -I. $plain "$folder/faults.c" "$checked/libfirn.a" -lm -o "$folder/faults"
# fault WORD PATTERN: the check says it and aborts
fault() {
    status=0
    "$folder/faults" "$1" >"$folder/out" 2>"$folder/err" || status=$?
    [ $status -eq 134 ] && grep -q "^check: step 31 op 0 $2" "$folder/err" || fail "fault $1: exit $status"
}
expect "no fault" 0 "" "$folder/faults" none
fault region 'relu: output 0 lies in no region$'
fault overlap 'relu: output 0 overlaps a part of input 0$'
fault kernel 'relu: output 0 is not what the portable kernel computes$'
fault gradient 'sgd: element 1 of the gradient is not finite, and the step was not skipped$'

[ $failures -eq 0 ]
