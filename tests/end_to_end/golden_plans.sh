#!/bin/sh
# Plans that were made when this major version of the format began still give what they gave then: each plan of
# tests/golden/plans is trained or evaluated on data that is made here, and digests and values are compared with the file
# `results` beside them. A checkpoint of that time is evaluated, and its run goes on.
#
#     tests/end_to_end/golden_plans.sh           compares
#     tests/end_to_end/golden_plans.sh --print   makes the checkpoint and prints the results, for make.sh
set -eu

. tests/end_to_end/expectations

golden=tests/golden/plans
old=$golden/frozen_train.checkpoint
[ -e $golden/mlp_train.plan ] || {
    echo "there are no plans in $golden; make.sh there makes them, once"
    exit 1
}

# --- data: text; images and records of numbers, with labels, as IDX ----------------------------------------------------

seq 1 12000 >"$folder/text"
{
    printf '\0\0\010\003\0\0\0\100\0\0\0\034\0\0\0\034'
    head -c $((64 * 784)) "$folder/text"
} >"$folder/images"
{
    printf '\0\0\015\002\0\0\0\100\0\0\0\010'
    # -1, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1
    printf "$(awk 'BEGIN {
        split("277\\200 277\\000 276\\200 000\\000 076\\200 077\\000 077\\100 077\\200", bytes, " ")
        for (i = 0; i < 64 * 8; i++)
            printf "\\%s\\0\\0", bytes[(int(i / 8) * 7 + i % 8 * 5 + int(i / 24)) % 8 + 1]
    }')"
} >"$folder/records"
# labels CLASSES: 64 labels.
labels() {
    printf '\0\0\010\001\0\0\0\100'
    printf "$(awk -v classes="$1" 'BEGIN { for (i = 0; i < 64; i++) printf "\\%03o", (i * 7 + int(i / 5)) % classes }')"
}
labels 10 >"$folder/labels_of_images"
labels 4 >"$folder/labels_of_records"

# --- running -----------------------------------------------------------------------------------------------------------

# with NAME: the data of a plan.
with() {
    case $1 in
    gpt2_*) echo "--data $folder/text" ;;
    mlp_*) echo "--data $folder/images --labels $folder/labels_of_images" ;;
    *) echo "--data $folder/records --labels $folder/labels_of_records" ;;
    esac
}

# train NAME STEPS CHECKPOINT [OPTION]...: prints the digest. evaluate NAME CHECKPOINT: prints the value.
train() {
    name=$1
    steps=$2
    into=$3
    shift 3
    # shellcheck disable=SC2046 # several options
    "$FIRN" train $golden/$name.plan --pub $golden/key.pub.pem $(with $name) --steps $steps --checkpoint "$into" --quiet "$@"
}
evaluate() {
    # shellcheck disable=SC2046
    "$FIRN" eval $golden/$1.plan --pub $golden/key.pub.pem $(with $1) --checkpoint "$2" --quiet
}

# say NAME COMMAND...: prints the line of a result behind the name.
say() {
    said=$1
    shift
    if "$@" >"$folder/out" 2>"$folder/err"; then
        echo "$said $(cat "$folder/out")"
    else
        echo "$said $(cat "$folder/err")"
    fi
}

# all: the results, and nothing else.
all() {
    for plan in $golden/*_train.plan; do
        of=$(basename "$plan" .plan)
        say "$of" train "$of" 5 "$folder/$of" --log "$folder/$of.jsonl"
        say "$of" sed -n 's/.*"step":5,.*"loss":\([^,]*\),.*/loss \1/p' "$folder/$of.jsonl"
    done
    for plan in $golden/*_eval.plan; do
        of=$(basename "$plan" .plan)
        say "$of" evaluate "$of" "$folder/${of%_eval}_train"
    done
    cp $old "$folder/goes_on"
    say "the checkpoint" evaluate frozen_eval "$folder/goes_on"
    say "the checkpoint" train frozen_train 2 "$folder/goes_on" --resume
    rm -f "$folder"/*_train "$folder"/*.jsonl "$folder/goes_on"
}

if [ "${1:-}" = --print ]; then
    train frozen_train 3 $old >"$folder/out"
    all
    exit 0
fi
for kernels in plain ''; do
    export FIRN_KERNELS=$kernels
    all >"$folder/results"
    diff $golden/results "$folder/results" || fail "other results with ${kernels:-the best kernels of this machine}"
done

[ "$failures" -eq 0 ]
