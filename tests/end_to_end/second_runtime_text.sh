#!/bin/sh
# The documents specify what a language model says: tests/golden/second_runtime.py, which was written from plan/NUMERICS.md
# without the sources, decodes with the parameters that it trained itself. Each case compares its text, drawn by its own
# rules, with that of `firn generate`, and the bits of the scores behind each token with the logits of an evaluation of
# the same text by `firn predict`.
#
# Needs: signing python
set -eu

. tests/end_to_end/expectations
cases=0

python3 -c 'import numpy' 2>"$folder/err" || {
    fail "python3 with numpy is missing; install them with: .packages/install test"
    exit 1
}
"$FIRNC" keygen "$folder/test" >"$folder/out"
head -c 700 /usr/share/common-licenses/GPL-3 >"$folder/data"

# compile NAME RECIPE OPTION...
compile() {
    plan=$1
    recipe=$2
    shift 2
    "$FIRNC" compile "$recipe" --key "$folder/test.key.pem" -o "$folder/$plan" --set trainer.init.model.max_position_embeddings=24 \
        --set trainer.fit.train_dataloader.max_sequence_length=24 --set trainer.init.model.initializer_range=0.4 "$@" \
        >"$folder/out" 2>"$folder/err"
}

# says NAME RECIPE CHUNK SAMPLING TARGET [SETTING]...: SAMPLING is "T K P SEED"; a setting is a key without `trainer.`
says() {
    name=$1
    recipe=$2
    chunk=$3
    sampling=$4
    target=$5
    shift 5
    cases=$((cases + 1))
    takes_next || return 0
    for setting in "$@"; do
        set -- "$@" --set "trainer.$setting"
        shift
    done
    rm -f "$folder/run" "$folder"/*.npy
    { compile train "$recipe" --mode train --target "$target" "$@" &&
        compile decode "$recipe" --mode eval --decode --decode-chunk "$chunk" --target "$target" "$@" &&
        compile predict "$recipe" --mode eval --target "$target" "$@" --set 'trainer.validate.outputs=[logits]' \
            --set trainer.validate.val_dataloader.batch_size=1; } || {
        fail "$name does not compile"
        return
    }
    "$FIRN" train "$folder/train" --pub "$folder/test.pub.pem" --data "$folder/data" --steps 1 --quiet --checkpoint "$folder/run" \
        >"$folder/out" 2>"$folder/err" || {
        fail "$name: firn does not train"
        return
    }
    # The sampling is split into words intentionally, here and below.
    # shellcheck disable=SC2086
    set -- $sampling
    "$FIRN" generate "$folder/decode" --pub "$folder/test.pub.pem" --checkpoint "$folder/run" --prompt "GNU GENERAL" --tokens 13 \
        --temperature "$1" --top-k "$2" --top-p "$3" --seed "$4" >"$folder/got" 2>"$folder/err" || fail "$name: firn says nothing"
    head -c 24 "$folder/got" >"$folder/text"
    # shellcheck disable=SC2086
    python3 tests/golden/second_runtime.py "$folder/train" --data "$folder/data" --steps 1 --decode "$folder/decode" \
        --prompt "GNU GENERAL" --tokens 13 --sampling $sampling --scores "$folder/scores.npy" >"$folder/out" 2>&1 || {
        fail "$name: the second runtime ends with an error"
        return
    }
    "$FIRN" predict "$folder/predict" --pub "$folder/test.pub.pem" --checkpoint "$folder/run" --data "$folder/text" \
        -o "$folder/logits.npy" >"$folder/got" 2>"$folder/err" || fail "$name: firn predicts nothing"
    python3 - "$folder" >"$folder/got" 2>&1 <<'END' || fail "$name: the second runtime says something else"
import sys
from pathlib import Path
import numpy as np

folder = Path(sys.argv[1])
text = next(line for line in (folder / "out").read_text().splitlines() if line.startswith("text "))
assert text == "text " + (folder / "text").read_bytes().hex(), text
scores, logits = np.load(folder / "scores.npy"), np.load(folder / "logits.npy")[0]
assert scores.shape == (23, 256) and logits.shape == (24, 256), (scores.shape, logits.shape)
differ = scores.view(np.uint32) != logits[:23].view(np.uint32)
assert not differ.any(), f"{differ.sum()} scores differ, the first at {np.argwhere(differ)[0]}"
END
}

precision=init.precision
gpt2=compiler/recipes/small_gpt2.yaml
says "GPT-2, float32" $gpt2 1 "1 0 1 7" portable $precision.enabled=false
says "GPT-2, slopes, chunks of five" $gpt2 5 "0.8 20 1 1" portable init.model.position_embedding_type=alibi init.model.num_heads=4
says "GPT-2, chunked sums, softmax in float16" $gpt2 3 "1.5 0 0.7 2" portable $precision.fp16_type=float16 \
    $precision.precision_opt_level=2 $precision.pol_lowering=emulate init.model.attention_softmax_fp32=false
says "GPT-2, sums of an engine" $gpt2 4 "1 30 0.9 3" amx-bf16
says "GPT-2, sums in pairs" $gpt2 1 "2 0 1 4" avx512-bf16 $precision.precision_opt_level=2
says "LLaMA, groups of heads" compiler/recipes/small_llama.yaml 2 "0 0 1 0" portable $precision.enabled=false
says "GPT-NeoX, rotation in half" compiler/recipes/small_gpt_neox.yaml 1 "1 5 0.5 99999999999" portable
says "GPT-J" compiler/recipes/small_gptj.yaml 7 "1 0 0.99 5" portable $precision.enabled=false

echo "$cases cases, $failures failures"
[ $failures -eq 0 ] && [ $cases -eq 8 ]
