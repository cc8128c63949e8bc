#!/bin/sh
# "-" for standard input and output: where an option or an operand takes it, what it gives is what a file gets; everywhere else
# it is refused in a line that names the option. Also `--`, which ends the options.
set -eu

. tests/end_to_end/expectations
needs full
here=$PWD
case $BUILD in
/*) ;;
*)
    FIRNC=$here/$FIRNC
    FIRN=$here/$FIRN
    ;;
esac
cd "$folder"

# --- where it is taken ---------------------------------------------------------------------------------------------

mkdir -p js/chart.js
printf '/*! Chart.js v3.9.1 */\n' >js/chart.js/chart.min.js
FIRN_JAVASCRIPT=$folder/js
export FIRN_JAVASCRIPT
for step in 1 2 3; do echo "{\"step\": $step, \"loss\": 2.$step, \"learning_rate\": 0.1}"; done >run.jsonl
"$FIRNC" keygen me >out
"$FIRNC" compile "$here/compiler/recipes/small_mlp.yaml" --mode train --key me.key.pem -o train.plan >out

# gives NAME FILE COMMAND...: the command, with - as the output, prints what it wrote into the file
gives() {
    name=$1
    file=$2
    shift 2
    "$@" >printed 2>err || fail "$name: exit $?"
    same "$name: standard output has something else than the file" printed "$file"
    [ ! -e ./- ] || fail "$name: a file of the name -"
}

"$FIRN" plot run.jsonl -o run.svg
gives "plot -o -" run.svg "$FIRN" plot run.jsonl -o -
"$FIRN" plot - -o - <run.jsonl >printed
[ "$(grep -c . printed)" -eq "$(grep -c . run.svg)" ] || fail "plot - draws something else"
grep -q 'standard input' printed || fail "plot -: the run has no name"
"$FIRN" report run.jsonl -o run.html
gives "report -o -" run.html "$FIRN" report run.jsonl -o -
expect "report -" 0 "" sh -c "cat run.jsonl | '$FIRN' report - -o piped.html"
[ -s piped.html ] || fail "report -: no page"
expect "two standard inputs" 2 "can be read once" "$FIRN" plot - - -o x.svg
expect "an empty input" 1 "standard input: is empty" "$FIRN" plot - -o x.svg
expect "plot to a full disk" 1 "standard output\|stdout" sh -c "exec '$FIRN' plot run.jsonl -o - >/dev/full"
expect "plot to no output" 1 "is closed" sh -c "exec '$FIRN' plot run.jsonl -o - >&-"
"$FIRNC" schedule train.plan --plot rates.svg >out
gives "schedule --plot -" rates.svg "$FIRNC" schedule train.plan --plot -
for form in --c --array "--hex --address 0" "--elf --machine arm"; do
    # shellcheck disable=SC2086
    "$FIRNC" export train.plan $form -o exported >out
    # shellcheck disable=SC2086
    gives "export $form -o -" exported "$FIRNC" export train.plan $form -o -
done
expect "export to a full disk" 1 "standard output cannot be written" sh -c "exec '$FIRNC' export train.plan --c -o - >/dev/full"
expect "a drawing to a full disk" 1 "standard output cannot be written" sh -c "exec '$FIRNC' schedule train.plan --plot - >/dev/full"

# --- where it is not -----------------------------------------------------------------------------------------------

taken='
firn eval --confusion
firn report --output
firn plot --output
firnc schedule --plot
firnc export --output
firnc tokens --output
'
refused=0
for tool in firn firnc; do
    program=$FIRN
    [ $tool = firn ] || program=$FIRNC
    "$program" help | sed -n 's/^  \([a-z-]*\) .*/\1/p' >commands
    while read -r command; do
        "$program" help "$command" |
            sed -n 's/^      \(-[a-z], \)\{0,1\}\(--[a-z-]*\) \(FILE\|FOLDER\|DIR\|KEY\|PUB\|PLAN\|CKPT\|SIGNATURE\|RUNNER\)\( .*\|\)$/\2 \3/p' >names
        while read -r option value; do
            case $taken in
            *"
$tool $command $option
"*) continue ;;
            esac
            what=file
            case $value in FOLDER | DIR) what=folder ;; esac
            expect "$tool $command $option -" 2 "^$tool $command: $option: takes no standard input or output; write the name of a $what" \
                "$program" "$command" "$option" -
            refused=$((refused + 1))
        done <names
        operand=$("$program" help "$command" | sed -n "1s/^  $tool $command \([A-Z|][A-Z|]*\).*/\1/p")
        case "$tool $command" in
        "firn report" | "firn plot" | "firnc tokens") continue ;;     # of these it is standard input
        "firnc keygen" | "firn help" | "firnc help") continue ;; # of these it names no file
        esac
        expect "$tool $command -" 2 "^$tool $command: $operand: takes no standard input or output; write the name of a file" \
            "$program" "$command" -
        refused=$((refused + 1))
    done <commands
done
[ $refused -ge 120 ] || fail "only $refused options and operands were tried"

# --- progress, which a terminal replaces --------------------------------------------------------------------------------

needs terminal
# controls TERM: how many lines of the training have a control sequence, on a terminal of this kind
controls() {
    TERM=$1 script -qec "'$FIRN' train train.plan --pub me.pub.pem --data images.npy --labels labels.npy --steps 3" /dev/null |
        grep -c "$(printf '\033')" || :
}
head -c 31360 /dev/zero | npy images.npy '|u1' '(40, 784)'
head -c 40 /dev/zero | npy labels.npy '|u1' '(40,)'
[ "$(controls xterm)" -ge 1 ] || fail "no progress that replaces a line on a terminal"
[ "$(controls dumb)" -eq 0 ] || fail "TERM=dumb: control sequences"

# --- names that begin like options ---------------------------------------------------------------------------------

cp train.plan ./-plan
expect "a name that begins with a minus" 2 "^firnc inspect: -plan: unknown option" "$FIRNC" inspect -plan
expect "behind --" 0 "" "$FIRNC" inspect --json -- -plan
expect "as a path" 0 "" "$FIRNC" inspect ./-plan --json
expect "an option behind --" 2 "one word too many" "$FIRNC" inspect -- -plan --json
expect "-- alone" 2 "needs a PLAN" "$FIRNC" inspect --
expect "--help behind --" 2 "one word too many" "$FIRNC" inspect -- -plan --help

echo "$refused options and operands, $failures failures"
[ "$failures" -eq 0 ]
