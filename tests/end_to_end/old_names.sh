#!/bin/sh
# Old names of options: each that `help` shows is accepted as before, gives what the new name gives, and adds one line on
# stderr that names the new one; none with --quiet. Completion and forms show new names only. tests/golden/command_options has
# the command lines.
set -eu

. tests/end_to_end/expectations

here=$PWD
case $BUILD in
/*) ;;
*)
    FIRNC=$here/$FIRNC
    FIRN=$here/$FIRN
    ;;
esac
mkdir "$folder/empty"

# pairs PROGRAM: prints "COMMAND NEW OLD" for each old name, from the manual pages.
pairs() {
    "$1" help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | while read -r command; do
        "$1" help --man "$command" | sed 's/^\\fB/ /; s/\\f[BIR]//g; s/\\-/-/g' | awk -v command="$command" '
            /^ -/ { new = $1 ~ /^--/ ? $1 : $2 }
            /^\(old name: --[a-z-]*\)$/ { sub(/\)/, "", $3); print command, new, $3 }'
    done
}

# run PROGRAM WORD...: exit status, and what it says.
run() {
    status=0
    (cd "$folder/empty" && "$@" </dev/null >"$folder/printed" 2>"$folder/said") || status=$?
    echo $status >>"$folder/printed"
}

count=0
# What a reader copies: pages and scripts, with continued lines joined.
find README.md plan schedules runtime compiler tests -name '*.md' -o -name '*.sh' | grep -v '/old_names\.sh$' |
    while read -r file; do sed -e ':a' -e '/\\$/N; s/\\\n//; ta' -e "s|^|$file: |" "$file"; done >"$folder/said_everywhere"

for tool in firn firnc; do
    program=$FIRN variable=FIRN
    [ $tool = firn ] || program=$FIRNC variable=FIRNC
    pairs "$program" >"$folder/pairs"
    while read -r command new old; do
        count=$((count + 1))
        # A command line with the new name that fails for want of a file, after all options were read.
        words=$(sed -n "s/^\($tool $command .*\) | 1: .*/\1/p" tests/golden/command_options | grep -e " $new\( \|\$\)" | head -n 1)
        [ -n "$words" ] || {
            fail "$tool $command $new: tests/golden/command_options has no line with it that ends at a file"
            continue
        }
        set -f
        # shellcheck disable=SC2086
        set -- ${words#"$tool "}
        run "$program" "$@"
        cp "$folder/said" "$folder/wanted"
        cp "$folder/printed" "$folder/wanted_output"
        # shellcheck disable=SC2046
        set -- $(printf '%s\n' "$@" | sed "s/^$new\$/$old/")
        run "$program" "$@"
        set +f
        echo "$tool $command: note: $old is called $new now; the old name works as before" | cat - "$folder/wanted" >"$folder/both"
        cmp -s "$folder/said" "$folder/both" || {
            cp "$folder/said" "$folder/err"
            fail "$tool $command $old: something else than a note and what $new says"
        }
        same "$tool $command $old: the output or status of $new" "$folder/printed" "$folder/wanted_output"
        grep -E "(^|[^a-z_])($tool|\\\$$variable)[\"']* $command [^|;\`]*$old([^a-z-]|\$)" "$folder/said_everywhere" >"$folder/out" &&
            fail "$tool $command $old: a page or a script has the old name"
        "$program" help --completion bash | grep "^    $command) options=" | grep -e " $old\( \|'\)" >/dev/null &&
            fail "$tool $command $old: completed"
        "$program" help "$command" | grep "^  $tool " | grep -e "$old " >/dev/null && fail "$tool $command $old: a form has it"
    done <"$folder/pairs"
done
[ "$count" -ge 12 ] || fail "only $count old names were found"

# None with --quiet, and one for each name.
run "$FIRN" eval plan --pub key --data data --checkpoint state --labels labels --weights weights --quiet
[ "$(wc -l <"$folder/said")" -eq 1 ] || fail "--quiet: a note"
run "$FIRN" train plan --pub key --data a --labels b --weights c --eval e --eval-data d --eval-labels f --eval-weights g
[ "$(grep -c '^firn train: note: ' "$folder/said")" -eq 2 ] || fail "two old names: not two notes"
run "$FIRN" eval plan --pub key --data data --checkpoint state --labels l --weights a --sample-weights b
grep -q -e '--sample-weights: is given twice' "$folder/said" || fail "both names of one option"

# They do what they did.
cp compiler/recipes/small_mlp.yaml "$folder/recipe.yaml"
"$FIRNC" schedule "$folder/recipe.yaml" --range 2:5 >"$folder/new" 2>"$folder/err"
"$FIRNC" schedule "$folder/recipe.yaml" --steps 2:5 >"$folder/old" 2>"$folder/err"
same "schedule --steps" "$folder/old" "$folder/new"
[ "$(wc -l <"$folder/new")" -eq 4 ] || fail "a range of three steps"

echo "$count old names, $failures failures"
[ "$failures" -eq 0 ]
