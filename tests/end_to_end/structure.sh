#!/bin/sh
# Checks the structure of the sources: no circular dependency between files, includes only along the arrows between
# folders, no folder with more than MOST_FILES hand-written sources, and headers that compile alone.
set -eu
cd "$(dirname "$0")/../.."

. tests/end_to_end/expectations
CC=${CC:-cc}
MOST_FILES=30 # hand-written sources per folder

# The folders whose files each folder may include, in addition to its own. FOLDER/ stands for the folder and all folders
# below it. A folder that is not listed may include nothing from other folders.
cat >"$folder/arrows" <<'end'
schedules
plan                    plan/ schedules
plan/checks             plan/ schedules
plan/checks/sealed      plan/ schedules
plan/shapes             plan/
plan/keys               plan/
plan/costs              plan/
plan/slots              plan/
plan/checkpoint         plan/
plan/generated          plan/
plan/generate           plan/

runtime/numerics        plan/
runtime/kernels         plan/ schedules runtime/numerics
runtime/kernels/elements plan/ runtime/numerics runtime/kernels
runtime/kernels/images  plan/ runtime/numerics runtime/kernels
runtime/kernels/layout  plan/ runtime/numerics runtime/kernels
runtime/kernels/losses  plan/ schedules runtime/numerics runtime/kernels
runtime/kernels/norms   plan/ runtime/numerics runtime/kernels
runtime/kernels/optimizers plan/ schedules runtime/numerics runtime/kernels
runtime/kernels/recurrent plan/ runtime/numerics runtime/kernels
runtime/kernels/reduce  plan/ runtime/numerics runtime/kernels
runtime/kernels/vector  plan/ runtime/numerics runtime/kernels runtime/kernels/losses runtime/kernels/recurrent runtime/kernels/reduce runtime/kernels/vector/
runtime/kernels/vector/attention plan/ runtime/numerics runtime/kernels runtime/kernels/vector/
runtime/kernels/vector/images plan/ runtime/numerics runtime/kernels runtime/kernels/images runtime/kernels/vector/
runtime/kernels/vector/norms plan/ runtime/numerics runtime/kernels runtime/kernels/vector/
runtime/kernels/vector/samples plan/ runtime/numerics runtime/kernels runtime/kernels/vector/
runtime/kernels/vector/token plan/ runtime/numerics runtime/kernels runtime/kernels/vector/
runtime/kernels/vector/chunked plan/ runtime/numerics runtime/kernels runtime/kernels/images runtime/kernels/reduce runtime/kernels/vector/
runtime/kernels/vector/engine plan/ runtime/numerics runtime/kernels runtime/kernels/images runtime/kernels/recurrent runtime/kernels/reduce runtime/kernels/vector/
runtime                 plan/ schedules runtime/check runtime/numerics runtime/kernels
runtime/check           plan/ runtime/kernels
runtime/parts           plan/ runtime runtime/numerics
runtime/decode          plan/ runtime runtime/numerics
runtime/examples        plan/ runtime runtime/targets/host
runtime/targets         plan/ schedules runtime
runtime/targets/host    plan/ schedules runtime runtime/targets
runtime/targets/host/program runtime/targets/host
runtime/targets/host/images plan/ runtime/targets runtime/targets/host
runtime/targets/host/tables plan/ runtime/targets runtime/targets/host
runtime/targets/x86     plan/ schedules runtime runtime/targets runtime/kernels/
runtime/targets/aarch64 plan/ schedules runtime runtime/targets runtime/kernels/
runtime/targets/emulated plan/ schedules runtime runtime/decode runtime/numerics runtime/targets
runtime/targets/cortex-m runtime/targets
runtime/targets/rv32    runtime/targets
runtime/targets/rv32/libc runtime/targets/rv32/libc/include
runtime/manual
runtime/program
runtime/text
runtime/chart           runtime/text
runtime/package         plan/
runtime/package/arduino runtime runtime/decode
runtime/cli             plan/ schedules runtime runtime/decode runtime/targets/host runtime/targets/host/images runtime/manual runtime/program runtime/text
runtime/cli/outputs     plan/ runtime runtime/targets/host runtime/cli runtime/program runtime/text
runtime/cli/tables      plan/ runtime runtime/targets/host runtime/targets/host/tables runtime/cli runtime/text
runtime/report          plan/ schedules runtime runtime/targets/host runtime/cli runtime/chart runtime/text
runtime/ranks           plan/ schedules runtime runtime/numerics runtime/kernels
runtime/mpi             plan/ runtime runtime/ranks runtime/cli runtime/program

compiler/base           plan/ schedules runtime/manual
compiler/keys           plan/ schedules compiler/base
compiler/graph          plan/ schedules compiler/base runtime/numerics
compiler/job            plan/ schedules compiler/base compiler/graph runtime/numerics
compiler/passes         plan/ schedules compiler/base compiler/graph compiler/job compiler/passes/gradients runtime/numerics
compiler/passes/gradients plan/ compiler/base compiler/graph compiler/job compiler/passes
compiler/passes/evaluation plan/ compiler/base compiler/graph compiler/job compiler/passes
compiler/tokens         compiler/base
compiler/weights        plan/ compiler/base compiler/graph compiler/job runtime/numerics
compiler/emit           plan/ schedules compiler compiler/base compiler/graph compiler/job compiler/passes compiler/weights runtime/numerics
compiler                plan/ schedules compiler/base compiler/graph compiler/job compiler/passes compiler/emit
compiler/onnx           plan/ schedules compiler compiler/base compiler/graph compiler/job runtime/numerics
compiler/onnx/ops       plan/ schedules compiler compiler/base compiler/graph compiler/job compiler/onnx
compiler/models         plan/ schedules compiler/base compiler/keys compiler/graph compiler/job compiler/models/images compiler/onnx runtime/numerics
compiler/models/images  plan/ schedules compiler/base compiler/keys compiler/graph compiler/job compiler/models runtime/numerics
compiler/recipe         plan/ schedules compiler/base compiler/keys compiler/graph compiler/job compiler/models
compiler/bindings       plan/ compiler compiler/base compiler/emit compiler/graph compiler/job compiler/models compiler/recipe
compiler/bindings/python plan/ compiler/base compiler/bindings runtime runtime/decode runtime/targets/host
compiler/examples       plan/ compiler compiler/graph compiler/job
compiler/firmware       plan/ schedules compiler/ runtime runtime/targets
compiler/commands       plan/ schedules compiler/ runtime runtime/chart runtime/manual runtime/program
compiler/commands/inspect plan/ schedules compiler/ runtime/text
compiler/studies        plan/ schedules compiler/ runtime/chart
end

git ls-files --cached --others --exclude-standard plan schedules runtime compiler >"$folder/files" 2>/dev/null || true
[ -s "$folder/files" ] || find plan schedules runtime compiler -type f >"$folder/files"
grep '\.[ch]$' "$folder/files" | while read -r file; do [ ! -e "$file" ] || echo "$file"; done >"$folder/sources"
: >"$folder/found"

# --- no circle of files ---
# A file needs another if its object uses a symbol that the other's object defines. The check skips firmware's own
# files, because two targets define the same names, examples, which no other file needs, the files that include headers of MPI and
# of Python, which a machine may lack, and elsewhere what compiles only for x86.

# find_object SOURCE: sets $object to the path of the source's object: from the build, from any kernel set that has it, or
# compiled here. It runs in no shell of its own, because there are hundreds of sources.
find_object() {
    for built in objects fma avx2 avx512 avx512fp16 amx avx512bf16 neon neonfp16; do
        object=$BUILD/$built/${1%.c}.o
        [ ! -e "$object" ] || return 0
    done
    object=$folder/${1%.c}.o
    mkdir -p "${object%/*}"
    $CC -std=c11 -w -I. -c "$1" -o "$object"
}

elsewhere=
case $(uname -m) in
x86_64 | amd64) ;;
*) elsewhere='\|^runtime/targets/x86/' ;;
esac
grep '\.c$' "$folder/sources" |
    grep -v '^runtime/mpi/transport\.c$\|^compiler/bindings/python/\|^plan/checks/sealed/\|^runtime/targets/\(emulated\|cortex-m\|rv32\)/\|/examples/'"$elsewhere" >"$folder/compiled"
while read -r source; do
    find_object "$source"
    echo "$source $object"
done <"$folder/compiled" >"$folder/objects"
# All symbols by one nm, whose lines begin with the path of the object and a colon; the source takes that place.
cut -d ' ' -f 2- "$folder/objects" | tr '\n' '\0' | xargs -0 nm -P -A |
    awk 'FNR == NR { source[substr($0, index($0, " ") + 1)] = $1; next }
         { colon = index($0, ": "); print source[substr($0, 1, colon - 1)], substr($0, colon + 2) }' \
        "$folder/objects" - >"$folder/names"
awk 'FNR == NR { if ($3 ~ /^[A-TV-Z]$/ && !($2 in home)) home[$2] = $1; next }
     $3 ~ /^[Uw]$/ && ($2 in home) && home[$2] != $1 && !seen[$1, home[$2]]++ { print $1, home[$2], $2 }' \
    "$folder/names" "$folder/names" >"$folder/needs"
[ "$(wc -l <"$folder/needs")" -gt 100 ] || echo "hardly any file needs another: is this test looking?" >>"$folder/found"
cut -d ' ' -f 1,2 "$folder/needs" | sort >"$folder/pairs"
tsort "$folder/pairs" 2>"$folder/loops" >"$folder/order" || true
awk 'FNR == NR { name[$1, $2] = $3; next }
     function close_circle() { if (count) print line " -> " first " (" name[last, first] ")"; count = 0 }
     /input contains a loop/ { close_circle(); next }
     { if (!count++) { first = $2; line = "circle of files: " $2 } else line = line " -> " $2 " (" name[last, $2] ")"; last = $2 }
     END { close_circle() }' "$folder/needs" "$folder/loops" >>"$folder/found"

# --- includes follow the arrows ---
xargs grep -Hn '^ *# *include "' <"$folder/sources" | sed 's/^\([^:]*\):[0-9]*: *# *include "\([^"]*\)".*/\1 \2/' |
    awk 'function folder_of(path) { sub("/[^/]*$", "", path); return path }
         FNR == NR { if (NF) for (i = 1; i <= NF; i++) arrow[$1, $i] = 1; next }
         $2 !~ /^(plan|schedules|runtime|compiler|tests)\// { next }
         {
             from = folder_of($1)
             to = folder_of($2)
             good = from == to || (from, to) in arrow
             for (above = to; !good; sub("/[^/]*$", "", above)) {
                 good = (from, above "/") in arrow
                 if (above !~ "/")
                     break
             }
             if (!good)
                 print "includes", $1, $2
         }' "$folder/arrows" - >>"$folder/found"
# Only code that checks or makes signatures may include mbedTLS.
grep '^\(plan\|runtime\)/' "$folder/sources" | grep -v '^plan/\(signature\.c\|mbedtls_config\.h\)$\|^runtime/targets/x86/sha256\.c$' |
    xargs grep -l '# *include *["<]\(mbedtls\|psa\)/' | sed 's/^/mbedTLS is included by /' >>"$folder/found" || true

# --- folders of limited size ---
grep '\.\([chS]\|def\)$' "$folder/files" | sed 's|/[^/]*$||' | grep -v '/generated$' | sort | uniq -c |
    awk -v most=$MOST_FILES '$1 > most { print "files", $2 }' >>"$folder/found"

# --- headers compile alone ---
# Headers for a single instruction set are excepted: they are parts of the header that chooses among them. So is the C library
# of RISC-V, which has headers for its own compiler.
for header in $(grep '\.h$' "$folder/sources" |
    grep -v '^runtime/kernels/vector/.*\(avx[0-9]*\|neon\|operators\)\.h$\|^runtime/targets/rv32/libc/'); do
    flags=
    case $header in
    runtime/kernels/vector/*)
        case $(uname -m) in
        x86_64 | amd64) flags='-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq' ;;
        *) continue ;;
        esac
        ;;
    compiler/onnx/import.h | compiler/onnx/fold.h) flags="-isystem $BUILD" ;; # the reader that protoc-c has made
    esac
    takes_next || continue
    echo "#include \"$header\"" | $CC -std=c11 -I. $flags -fsyntax-only -x c - 2>"$folder/log" ||
        echo "alone $header does not compile: $(grep -m 1 'error:' "$folder/log")" >>"$folder/found"
done

sort -u "$folder/found"
[ ! -s "$folder/found" ] || exit 1
echo "$(wc -l <"$folder/needs") needs between $(wc -l <"$folder/sources") files"
