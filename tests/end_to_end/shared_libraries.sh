#!/bin/sh
# libfirn.so.0 and libfirnc.so.0 export what the public headers declare and nothing else, call nothing that prints a
# message or ends the process, and run the examples of the archives to the same plan and the same state.
#
# Needs: shared
set -eu

. tests/end_to_end/expectations

CC=${CC:-gcc}

# --- names ---------------------------------------------------------------------------------------------------------

# defined LIBRARY, used LIBRARY: the names that it exports, and those that it takes from other libraries
defined() {
    nm -D --defined-only "$BUILD/$1" | awk '{ print $3 }' | sort
}
used() {
    nm -D --undefined-only "$BUILD/$1" | awk '{ sub(/@.*/, "", $2); print $2 }' | sort
}

# declared HEADER...: the functions that headers declare
declared() {
    for header; do
        $CC -std=c11 -I. -E -P "$header" | tr '\n' ' ' | tr ';{}' '\n\n\n' |
            sed -n 's/^[^(]*[ *]\(firnc*_[a-z0-9_]*\)(.*/\1/p'
    done | sort -u
}

for library in firn firnc; do
    defined lib$library.so.0 >"$folder/$library.names"
    if grep -v "^${library}_" "$folder/$library.names"; then fail "lib$library.so.0 exports these"; fi
    readelf -d "$BUILD/lib$library.so.0" >"$folder/dynamic"
    grep -q "SONAME.*\[lib$library\.so\.0\]" "$folder/dynamic" || fail "lib$library.so.0 has another name"
    ! grep -q TEXTREL "$folder/dynamic" || fail "lib$library.so.0 is changed when it is loaded"
    # abort is for a call outside of firnc_perform (compiler/firnc.h), and puts prints a graph that is asked for.
    used lib$library.so.0 | grep -x 'exit\|_exit\|quick_exit\|raise\|kill\|stderr\|perror\|fprintf\|vfprintf\|fputs\|__fprintf_chk\|__assert_fail\|getenv_r' \
        >"$folder/out" && fail "lib$library.so.0 can print a message or end the process"
    : >"$folder/out"
done
! used libfirn.so.0 | grep -qx 'abort\|puts\|printf\|stdout' || fail "libfirn.so.0 prints or aborts"

declared runtime/firn.h runtime/decode/decode.h runtime/decode/sampling.h >"$folder/wanted"
[ "$(wc -l <"$folder/wanted")" -ge 35 ] || fail "hardly any function of firn.h was found: is this test looking?"
comm -23 "$folder/wanted" "$folder/firn.names" >"$folder/out"
[ ! -s "$folder/out" ] || fail "libfirn.so.0 lacks these"
declared compiler/firnc.h compiler/bindings/compile.h | grep '^firnc_' >"$folder/wanted"
[ "$(wc -l <"$folder/wanted")" -ge 100 ] || fail "hardly any function of firnc.h was found: is this test looking?"
comm -3 "$folder/wanted" "$folder/firnc.names" >"$folder/out"
[ ! -s "$folder/out" ] || fail "libfirnc.so.0 lacks these (left), or has others (right)"
: >"$folder/out"

# --- both run what the archives run --------------------------------------------------------------------------------

"$FIRNC" keygen "$folder/test" >/dev/null
# link LIBRARY PROGRAM SOURCE...
link() {
    library=$1
    program=$2
    shift 2
    $CC -std=c11 -I. "$@" -o "$program" -L"$BUILD" -l:"$library" -Wl,-rpath,"$(cd "$BUILD" && pwd)"
}
link libfirnc.so.0 "$folder/network" compiler/examples/network.c
expect "network.c" 0 "" "$folder/network" "$folder/test.key.pem" "$folder/shared.plan"
expect "network.c without a key" 1 "firnc: $folder/none: cannot be opened" "$folder/network" "$folder/none" "$folder/x"
"$FIRNC" verify "$folder/shared.plan" --pub "$folder/test.pub.pem" >"$folder/out" || fail "the plan is refused"

# console.c has what only a program may do, and so is not in the library.
link libfirn.so.0 "$folder/train" runtime/examples/train.c runtime/targets/host/program/console.c
"$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/test.key.pem" -o "$folder/gpt2.plan" \
    --set trainer.init.loop.num_steps=5 >/dev/null
expect "train.c" 0 "" "$folder/train" "$folder/gpt2.plan" "$folder/test.pub.pem" "$folder/checkpoint"
[ "$(grep -c '^step [1-5]: loss [0-9.]*$' "$folder/out")" -eq 5 ] || fail "train.c does not train five steps"
expect "train.c without a key" 1 "firn: $folder/none: cannot be read" "$folder/train" "$folder/gpt2.plan" "$folder/none" x

[ "$failures" -eq 0 ]
