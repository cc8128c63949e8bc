#!/bin/sh
# Every row of the tables that say which keys a recipe has: its range, its words, whether it is required, and what firnc
# says of a value that it refuses or ignores. tests/golden/recipe_keys has the probes, one a line:
#
#     RECIPE MODE KEY VALUE [; KEY VALUE]... | what firnc answers
#
# A message about the last key stands without its key. Of a value that is accepted the answer says whether the plan is
# the same as without the last setting, or another; warnings follow. A line in brackets begins the probes of one table.
#
#     tests/end_to_end/recipe_keys.sh           compares, and fails if a table has a key without a probe
#     tests/end_to_end/recipe_keys.sh --write   writes the answers of this firnc into the file; a new probe is a line
#                                               without an answer, which ends after the bar
set -eu

. tests/end_to_end/expectations

golden=tests/golden/recipe_keys

"$FIRNC" keygen "$folder/test" >"$folder/out"

# The recipe that lines call older: in the layout of the model zoo's older releases.
cat >"$folder/older.yaml" <<'RECIPE'
model:
  name: mlp
  input_size: 4
  hidden_sizes: [3]
  output_size: 2
optimizer:
  optimizer_type: SGD
  learning_rate: 0.1
train_input:
  batch_size: 4
runconfig:
  max_steps: 9
RECIPE

# compile RECIPE MODE SETTINGS: compiles; the settings have " ; " between and behind them. Sets `recipe`, `key` to the key
# of the last setting, and `hash` to the hash of the plan, or to nothing. Messages are in $folder/said.
compile() {
    recipe=compiler/recipes/$1.yaml
    [ "$1" != older ] || recipe=$folder/older.yaml
    mode=$2
    rest=$3
    set --
    while [ -n "$rest" ]; do
        setting=${rest%%" ; "*}
        rest=${rest#*" ; "}
        key=${setting%% *}
        set -- "$@" --set "$key=${setting#* }"
    done
    status=0
    "$FIRNC" compile "$recipe" --mode "$mode" --unsigned --pub "$folder/test.pub.pem" -o "$folder/plan" "$@" \
        </dev/null >"$folder/out" 2>"$folder/said" || status=$?
    hash=
    while IFS= read -r line; do
        hash=$line
    done <"$folder/out"
}

# messages: sets `said` to what firnc said in the last compilation, without places that are the recipe or the setting.
messages() {
    said=
    while IFS= read -r line; do
        line=${line#"firnc: $recipe"}
        line=${line#: }
        line=${line#--set }
        case $line in
        :[0-9]*) line=${line#:*: } ;;
        esac
        said=$said${said:+; }${line#"$key: "}
    done <"$folder/said"
}

# unchanged RECIPE MODE: sets `hash_before` to the hash of the plan of the recipe as it is, which is kept.
unchanged() {
    before=
    hash_before=
    [ ! -e "$folder/$1.$2" ] || read -r hash_before <"$folder/$1.$2"
    if [ -z "$hash_before" ]; then
        compile "$1" "$2" ""
        hash_before=$hash
        printf '%s\n' "$hash" >"$folder/$1.$2"
    fi
}

# answer RECIPE MODE SETTINGS: prints what firnc answers.
before=
answer() {
    compile "$1" "$2" "$3 ; "
    messages
    case $status in
    0)
        made=$hash
        earlier=
        case $3 in
        *" ; "*) earlier="${3%" ; "*} ; " ;;
        esac
        if [ -z "$earlier" ]; then
            unchanged "$1" "$2"
        elif [ "$before" != "$1 $2 $earlier" ]; then
            before="$1 $2 $earlier"
            compile "$1" "$2" "$earlier"
            hash_before=$hash
        fi
        result='another plan'
        [ "$made" != "$hash_before" ] || result='same plan'
        ;;
    1) result= ;;
    *) result="exit $status" ;;
    esac
    printf '%s\n' "$result${result:+${said:+; }}$said"
}

# answers: copies the golden file with the answers of this firnc.
answers() {
    while IFS= read -r probe; do
        case $probe in
        '' | '#'* | '['*) printf '%s\n' "$probe" ;;
        *)
            if ! takes_next; then
                printf '%s\n' "$probe"
                continue
            fi
            probe=${probe%%" |"*}
            words=${probe#* }
            printf '%s | ' "$probe"
            answer "${probe%% *}" "${words%% *}" "${words#* }"
            ;;
        esac
    done <$golden
}

# rows: prints "FILE TABLE KEY" for each row of each table of keys, with - for a row without a key, and "WORD" for each
# word of the tables of words and of classes. A macro that stands for rows is a table. The keys of config.json, which are
# no keys of recipes, are tested by hugging_face.sh.
rows() {
    find compiler -name '*.[ch]' | LC_ALL=C sort | xargs awk '
        FNR == 1 || /^}|^#undef/ { table = ""; words = idle = 0 }
        /^#define [A-Z]/ { table = $2; sub(/\(.*/, "", table); words = idle = 0 }
        match($0, /const (firnc_field|firnc_idle_key|row) [a-z_]+(\[[A-Za-z_0-9]*\])? =/) || match($0, /^} [a-z_]+\[SETTINGS\] =/) {
            table = substr($0, RSTART, RLENGTH)
            idle = table ~ /^const (firnc_idle_key|row)/ && FILENAME !~ /hugging_face/
            sub(/^const [a-z_]+ |^} /, "", table)
            sub(/[[ ].*/, "", table)
            words = 0
        }
        /firnc_choice [a-z_]+\[\] =|^} (observers|leaves)\[|machine_keys\[\] =/ { words = 1 }
        words && /^    "[a-z_]+",$/ {
            split($0, parts, "\"")
            print parts[2]
        }
        {
            left = $0
            while (words && match(left, /\{"[A-Za-z_0-9]+",( "[A-Za-z_0-9]+",)?/)) {
                count = split(substr(left, RSTART, RLENGTH), parts, "\"")
                print parts[2]
                if (count > 4 && FILENAME ~ /leaves/)
                    print parts[4]
                left = substr(left, RSTART + RLENGTH)
            }
            while (idle && table != "" && match(left, /\{"[A-Za-z_0-9]+",/)) {
                split(substr(left, RSTART, RLENGTH), parts, "\"")
                print FILENAME, table, parts[2]
                left = substr(left, RSTART + RLENGTH)
            }
            while (!words && match(left, /"[A-Za-z_0-9]+", *(\.kind = FIRNC|VALUE\(|LENGTH\(|\{")|FIRNC_BELOW\("[a-z_0-9]+"|\{\.kind = FIRNC_FIELD/)) {
                row = substr(left, RSTART, RLENGTH)
                left = substr(left, RSTART + RLENGTH - (row ~ /\{"$/ ? 1 : 0))
                if (split(row, parts, "\"") < 3)
                    parts[2] = "-"
                print FILENAME, table == "" ? "none" : table, parts[2]
            }
        }
        /;$/ { table = ""; words = idle = 0 }'
}

# without_probe: prints what is wrong between the tables and the golden file.
without_probe() {
    rows | awk '
        NR == FNR && /^\[/ { section = substr($0, 2, length($0) - 2); probes[section] = "" }
        NR == FNR && / \|/ {
            everything = everything " " $0
            count[section]++
            split($0, parts, / \|/)
            probes[section] = probes[section] " " parts[1] " "
        }
        NR == FNR { next }
        NF == 1 && !has(everything, $1) { print "no probe has the word " $1 }
        NF == 3 {
            known[$1 " " $2] = 1
            if ($3 == "-")
                nameless[$1 " " $2]++
            else if (!has(probes[$1 " " $2], $3))
                print "[" $1 " " $2 "] has no probe of the key " $3
        }
        END {
            for (name in nameless)
                if (count[name] + 0 < nameless[name])
                    print "[" name "] has fewer probes than ranges without a key"
            for (name in probes)
                if (!(name in known))
                    print "[" name "] is no table of keys"
        }
        function has(text, word) { return text ~ "(^|[^A-Za-z_0-9])" word "($|[^A-Za-z_0-9])" }' $golden -
}

answers >"$folder/answers"
: >"$folder/out"
answers_are $golden "firnc answers" "$@"
without_probe | LC_ALL=C sort >"$folder/got"
[ ! -s "$folder/got" ] || fail "keys without a probe in $golden; add lines without an answer, and run this with --write:"
echo "$(grep -c ' |' $golden) probes, $failures failures"
[ "$failures" -eq 0 ]
