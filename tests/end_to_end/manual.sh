#!/bin/bash
# The documentation of both programs' command lines: the options that --help lists are exactly those accepted, and the
# manual page and the completion list the same. groff formats the page without a warning. Uses bash, because the test
# runs its completion.
#
# Needs: tools
set -eu

. tests/end_to_end/expectations

command -v groff >/dev/null || {
    echo "groff is missing; .packages/install test"
    exit 1
}

# documented PROGRAM COMMAND: the options that --help lists, one per line
documented() {
    "$1" help "$2" | sed -n 's/^      \(-[a-z]\), \(--[a-z-]*\).*/\1\n\2/p; s/^      \(--[a-z-]*\).*/\1/p' | sort
}

# in_page COMMAND: the same from the manual page
in_page() {
    sed -n "/^\.SS $1\$/,/^\.S/p" "$folder/page" | grep '^\\fB' | sed 's/\\fB\|\\fR//g; s/\\-/-/g' |
        sed -n 's/^\(-[a-z]\), \(--[a-z-]*\).*/\1\n\2/p; s/^\(--[a-z-]*\).*/\1/p' | sort
}

# completed PROGRAM WORD...: what bash offers for the last word, sorted
completed() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    "_$1"
    printf '%s\n' "${COMPREPLY[@]}" | sort
}

for tool in firnc firn; do
    program=$BUILD/$tool
    # The short help: a line for each command, below titles, on one screen.
    expect "$tool help" 0 "" "$program" help
    cp "$folder/out" "$folder/short"
    expect "$tool --help" 0 "" "$program" --help
    cmp -s "$folder/out" "$folder/short" || fail "$tool: help and --help differ"
    expect "$tool -h" 0 "" "$program" -h
    cmp -s "$folder/out" "$folder/short" || fail "$tool: help and -h differ"
    expect "$tool alone" 2 "the command is missing" "$program"
    cmp -s "$folder/out" "$folder/short" || fail "$tool: without a word it shows something else than help"
    [ "$(awk 'length > 80' "$folder/short" | wc -l)" -eq 0 ] || fail "$tool: a line of the short help is too long"
    [ "$(wc -l <"$folder/short")" -le 24 ] || fail "$tool: the short help is longer than a screen"
    expect "$tool help --all" 0 "" "$program" help --all
    cp "$folder/out" "$folder/help"
    [ "$(awk 'length > 100' "$folder/help" | wc -l)" -eq 0 ] || fail "$tool: a line of help is too long"
    sed -n "s/^  $tool \([a-z-]*\) .*/\1/p" "$folder/help" | sort -u >"$folder/commands"
    sed -n 's/^  \([a-z-]*\) .*/\1/p' "$folder/short" | sort | cmp -s - "$folder/commands" ||
        fail "$tool: the short help has other commands than help --all"
    "$program" help --man >"$folder/page"
    groff -man -ww -Tutf8 "$folder/page" >"$folder/out" 2>"$folder/err" || fail "$tool: groff cannot set the page"
    [ ! -s "$folder/err" ] || fail "$tool: groff warns of the page"
    for word in "EXIT STATUS" ENVIRONMENT FIRN_KERNELS FILES "SEE ALSO"; do
        grep -q "$word" "$folder/page" || fail "$tool: no $word in the manual page"
    done
    # The page says what help says: each line, without the escapes of roff, is in it.
    [ "$(head -n 1 "$folder/page")" = ".TH ${tool^^} 1 \"\" \"Firn $("$program" --version | sed 's/.* //')\" \"Firn\"" ] ||
        fail "$tool: the head of the manual page is $(head -n 1 "$folder/page")"
    tr -s ' \n' ' ' <"$folder/help" >"$folder/words"
    sed 's/\\f[BIR]//g; s/\\&//g; s/\\-/-/g; s/\\e/\\/g' "$folder/page" | tr -s ' ' |
        grep -v "^\.\|^$tool - \|^$tool --version$\|^firnc\?[a-z-]*(1),\?$" >"$folder/lines"
    [ "$(wc -l <"$folder/lines")" -gt 100 ] || fail "$tool: the manual page has few lines"
    awk 'FNR == NR { words = $0; next } !index(words, $0) { print; found = 1 } END { exit found }' "$folder/words" "$folder/lines" \
        >"$folder/out" || fail "$tool: the manual page has lines that help does not"
    # A line of the page that begins like a macro is escaped, so that groff prints it.
    ! grep -v '^\.\(TH\|SH\|SS\|TP\|PP\|RS\|RE\|nf\|fi\)\( \|$\)' "$folder/page" | grep "^[.']" || fail "$tool: a text begins like a macro"
    "$program" help --completion bash >"$folder/completion"
    bash -n "$folder/completion" || fail "$tool: bash cannot read its completion"
    . "$folder/completion"
    complete -p "$tool" >"$folder/out" || fail "$tool: no completion is set"
    completed "$tool" '' | grep -v '^--' >"$folder/got"
    cmp -s "$folder/got" "$folder/commands" || fail "$tool: the completion has other commands than help"
    while read -r command; do documented "$program" "$command"; done <"$folder/commands" | sort -u >"$folder/all"
    [ "$(wc -l <"$folder/all")" -gt 12 ] || fail "$tool: help shows no options"
    while read -r command; do
        documented "$program" "$command" >"$folder/documented"
        "$program" help --man "$command" >"$folder/page-of-$command"
        cat "$folder/page-of-$command" >>"$folder/pages"
        in_page "$command" | cmp -s - "$folder/documented" || fail "$tool $command: the page has other options than help"
        sed 's/\\-/-/g' "$folder/page-of-$command" | sed -n 's/^(old name: \(--[a-z-]*\))$/\1/p' >"$folder/old"
        { cat "$folder/documented"; echo --help; } | sort >"$folder/wanted"
        completed "$tool" "$command" - | cmp -s - "$folder/wanted" || fail "$tool $command: the completion has other options"
        grep -q "^    $command) .*--help" "$folder/completion" || fail "$tool $command: not in the completion"
        [ "$command" != help ] || continue
        expect "$tool $command --help" 0 "" "$program" "$command" --help
        "$program" help "$command" | cmp -s - "$folder/out" || fail "$tool $command: --help and help differ"
        expect "$tool $command -h" 0 "" "$program" "$command" -h
        "$program" help "$command" | cmp -s - "$folder/out" || fail "$tool $command: -h and help differ"
        # The parser accepts an option if and only if the help lists it for this command.
        names=" $(cat "$folder/documented" "$folder/old" | tr '\n' ' ')"
        for option in $(cat "$folder/all") --nonsense; do
            said=$("$program" "$command" "$option" 2>&1 >"$folder/out" </dev/null) && fail "$tool $command $option: accepted"
            known=yes
            [[ $said != *"unknown option"* ]] || known=no
            listed=no
            [[ $names != *" $option "* ]] || listed=yes
            [ $known = $listed ] || fail "$tool $command $option: known $known, listed $listed"
        done
    done <"$folder/commands"
    expect "$tool help of nothing" 2 "unknown command" "$program" help nonsense
    expect "$tool help of two" 2 "one word too many" "$program" help help help
    first=$(sed -n '/[a-z]\{4\}/p' "$folder/commands" | head -n 1)
    expect "$tool $first with a letter more" 2 "did you mean $first?" "$program" "x$first"
done

# A command of the other program is named as such, and nothing else is suggested in its place.
for tool in firnc firn; do
    "$BUILD/$tool" help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | sort >"$folder/commands-of-$tool"
done
# refers PROGRAM OTHER COMMAND...: each command is one of the other program
refers() {
    program=$1 other=$2
    shift 2
    [ $# -gt 0 ] || fail "$program: no command is only of $other"
    for command in "$@"; do
        expect "$program $command" 2 "$command: is a command of $other; write $other $command" "$BUILD/$program" "$command"
    done
}
# shellcheck disable=SC2046 # one word each
{
    refers firn firnc $(comm -23 "$folder/commands-of-firnc" "$folder/commands-of-firn")
    refers firnc firn $(comm -13 "$folder/commands-of-firnc" "$folder/commands-of-firn")
    [ ! -x "$BUILD/firn-mpi" ] || refers firn-mpi firn $(grep -vx 'train\|eval\|help' "$folder/commands-of-firn")
}

# Messages of files that several commands share name an option only after a command that has it, such as "firnc compile
# --weights". The options of `given` need none, because the user has given them, or every command that reads a recipe or
# data has them.
for tool in firnc firn; do
    "$BUILD/$tool" help --all | sed -n "s/^  $tool \([a-z-]*\) .*/\1/p" | sort -u | while read -r command; do
        documented "$BUILD/$tool" "$command" | sed "s/^/$tool $command /"
    done
done >"$folder/options"
find compiler/{emit,graph,job,keys,models,onnx,passes,recipe,weights} -name '*.[ch]' >"$folder/sources"
python3 - "$folder/options" "$folder/sources" >"$folder/got" <<'END' ||
import re, sys
given = {"--hf", "--samples", "--set", "--data", "--statistics"}
options = {tuple(line.split()) for line in open(sys.argv[1])}
wrong = 0
for name in open(sys.argv[2]).read().split():
    text = re.sub(r'"\s*(?:[A-Z_]+\s*)?"', "", open(name).read().replace("\\\n", ""))
    for message in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text):
        for found in re.finditer(r"(?<![\w-])--[a-z][a-z-]+", message):
            before = re.findall(r"\b(firnc?) ([a-z-]+)", message[: found.start()])
            before += [("firnc", "compile")] if re.search(r"\bcompile (it|two|with)\b", message[: found.start()]) else []
            if found[0] not in given and not any((*command, found[0]) in options for command in before):
                print(f"{name}: {found[0]} in: {message}")
                wrong += 1
sys.exit(wrong > 0)
END
    fail "a message names an option without a command that has it"

# has PROGRAM: whether the machine has a program that is only for these checks
has() {
    command -v "$1" >/dev/null && return 0
    echo "skipped: what $1 says, which is not installed"
    return 1
}

groff -man -ww -Tutf8 "$folder/pages" >"$folder/out" 2>"$folder/err" || fail "groff cannot set the pages of the commands"
[ ! -s "$folder/err" ] || fail "groff warns of a page of a command"

# What other readers of manual pages and other shells say. A page has no date, so that a build can be repeated.
if has mandoc; then
    # It takes what follows the last dot of a path as the section.
    for page in page page-of-train page-of-compile; do cp "$folder/$page" "$folder/$page.1"; done
    mandoc -Tlint "$folder/page.1" "$folder/page-of-train.1" "$folder/page-of-compile.1" 2>&1 | grep -v 'missing date' >"$folder/out" && fail "mandoc warns of a page"
fi
if has man; then
    man --warnings -l -Tutf8 "$folder/page" 2>&1 >/dev/null | grep -v '^$' >"$folder/out" && fail "man warns of a page"
fi
for tool in firnc firn; do
    if has zsh; then
        "$BUILD/$tool" help --completion zsh >"$folder/_$tool"
        zsh -n "$folder/_$tool" || fail "$tool: zsh cannot read its completion"
        zsh -f -c "autoload -U compinit; compinit -u -D; source '$folder/_$tool'; whence -w _$tool" >"$folder/out" 2>&1
        grep -qx "_$tool: function" "$folder/out" || fail "$tool: zsh does not take the completion"
    fi
    if has fish; then
        "$BUILD/$tool" help --completion fish >"$folder/$tool.fish"
        fish -n "$folder/$tool.fish" || fail "$tool: fish cannot read its completion"
        # fish NAME LINE: what it offers behind a line
        offered() {
            HOME=$folder fish --no-config -c "source '$folder/$tool.fish'; complete -C '$1'" | cut -f 1 | sort
        }
        offered "$tool " | grep -v '^-' | cmp -s - <(completed "$tool" '' | grep -v '^--') || fail "$tool: fish has other commands"
        offered "$tool export -" | sed -n '/^--/p' >"$folder/got"
        completed "$tool" export - | sed -n '/^--/p' | cmp -s - "$folder/got" || fail "$tool: fish has other options of export"
    fi
done

# The listed values are complete, and the completion offers exactly these.
[ "$(completed firnc compile --mode '' | tr '\n' ' ')" = "eval train " ] || fail "values of --mode"
expect "a wrong target" 2 "" "$BUILD/firnc" compile recipe --mode train --target nonsense
sed 's/.*write one of //; s/, /\n/g' "$folder/err" | sort >"$folder/targets"
for command in compile compare tune; do
    completed firnc "$command" --target '' | cmp -s - "$folder/targets" || fail "firnc $command: not all targets are listed"
done
touch "$folder/a.plan"
[ "$(completed firn train "$folder/a.")" = "$folder/a.plan" ] || fail "files are not completed"
[ "$(completed firn train --data "$folder/a.")" = "$folder/a.plan" ] || fail "files of an option are not completed"
[ -z "$(completed firn train --steps "$folder/a.")" ] || fail "a number is completed as a file"
mkdir "$folder/a.d"
[ "$(completed firnc compile --hf "$folder/a.")" = "$folder/a.d" ] || fail "a folder is not completed alone"

[ "$failures" -eq 0 ]
