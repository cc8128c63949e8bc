#!/bin/sh
# Every option of firnc and firn: which commands take it, which need it, its limits, and which options go with others.
# tests/golden/command_options has command lines and what the program answers:
#
#     firn COMMAND WORD... | STATUS: the first line on stderr
#     firn COMMAND | every option of the command, as the completion of the shell has them
#
# No file that a command line names is there, so a line that is right ends with a message about a file.
#
#     tests/end_to_end/command_options.sh           compares, and fails if an option has no command line
#     tests/end_to_end/command_options.sh --write   writes the answers into the file; a new command line has none
set -eu

. tests/end_to_end/expectations

golden=tests/golden/command_options
here=$PWD
case $BUILD in
/*) ;;
*)
    FIRNC=$here/$FIRNC
    FIRN=$here/$FIRN
    ;;
esac
mkdir "$folder/empty"

# options: prints "PROGRAM COMMAND | OPTION...", for each command.
options() {
    for program in firnc firn; do
        case $program in
        firnc) "$FIRNC" help --completion bash ;;
        firn) "$FIRN" help --completion bash ;;
        esac | sed -n "s/^ *\([a-z-]*\)) options='\(.*\)' ;;\$/$program \1 | \2/p"
    done
}

# answer PROGRAM WORD...: prints the exit status and the first line on stderr.
answer() {
    program=$FIRN
    [ "$1" = firn ] || program=$FIRNC
    shift
    status=0
    "$program" "$@" </dev/null >/dev/null 2>"$folder/said" || status=$?
    said=
    IFS= read -r said <"$folder/said" || :
    printf '%s: %s\n' $status "$said"
}

# answers: copies the golden file with the answers of these programs. Words are split at blanks.
answers() {
    set -f
    while IFS= read -r line; do
        words=${line%%" |"*}
        case $line in
        '' | '#'*) printf '%s\n' "$line" ;;
        *)
            case $words in
            *' '*' '*)
                printf '%s | ' "$words"
                # shellcheck disable=SC2086
                (cd "$folder/empty" && answer $words)
                ;;
            *) grep "^$words | " "$folder/options" || printf '%s | none\n' "$words" ;;
            esac
            ;;
        esac
    done <$golden
}

# without_line: prints each option that no command line of its command has, and each command without its options.
without_line() {
    awk -F ' \\| ' '
        FNR == NR { if (/ \|/) lines = lines "\n" $1 " "; if (/ \|/) heads[$1] = 1; next }
        !($1 in heads) { print $1 " | has no line with its options" }
        {
            count = split($2, names, " ")
            for (i = 1; i <= count; i++)
                if (names[i] != "--help" && !has($1, names[i]))
                    print $1 " " names[i] " is in no command line"
        }
        function has(command, name,   parts, n, j) {
            n = split(lines, parts, "\n")
            for (j = 1; j <= n; j++)
                if (index(parts[j], command " ") == 1 && (index(parts[j], " " name " ") || index(parts[j], " " name "=")))
                    return 1
            return 0
        }' $golden "$folder/options"
}

options >"$folder/options"
answers >"$folder/answers"
: >"$folder/out"
answers_are $golden "the programs answer" "$@"
without_line >"$folder/got"
[ ! -s "$folder/got" ] || fail "options without a command line in $golden; add lines without an answer, and run this with --write:"
# A very long word leaves the message its end, which says what to do.
long=$(printf '%70000s' '' | tr ' ' a)
for said in "unknown command; \`firn help\` lists the commands:$long" "unknown option; \`firn help eval\` lists the options:eval --$long" \
    "is not a number of threads; write one from 1 to 256:eval --threads=$long" "the PLAN is a; leave it out:eval a $long" \
    "is neither; write yes or no:eval --header $long"; do
    line=${said%%:*}
    # shellcheck disable=SC2086 # several words
    expect "a very long word: $line" 2 "^firn[^:]*: .*\.\.\.a.*$line$" "$FIRN" ${said#*:}
    [ "$(wc -c <"$folder/err")" -lt 2100 ] || fail "a message of $(wc -c <"$folder/err") bytes"
done
[ -z "$(ls "$folder/empty")" ] || fail "a command line that is refused left a file: $(ls "$folder/empty")"
echo "$(grep -c ' |' $golden) command lines, $failures failures"
[ "$failures" -eq 0 ]
