#!/bin/sh
# What firnc export writes beside the parts of a plan (parts.sh): a plan as a C array, Intel HEX and ELF, which the tools of a
# cross compiler read back byte by byte and link, and public keys as C. What is wrong is refused, and no output is lost.
#
# Needs: boards
set -eu

. tests/end_to_end/expectations

"$FIRNC" keygen "$folder/test" >"$folder/log"
"$FIRNC" keygen "$folder/other" >"$folder/log"
plan=$folder/plan
"$FIRNC" compile runtime/targets/size.yaml --mode train --key "$folder/test.key.pem" -o "$plan" >"$folder/log"
# The plan without its report: header bytes 224 to 239 are offset and length of the constants.
length=$(od -A n -t u4 -j 224 -N 12 "$plan" | awk '{ print $1 + $3 }')
head -c "$length" "$plan" >"$folder/wanted"
[ "$length" -lt "$(wc -c <"$plan")" ] || fail "the plan has no report: does this test look?"

# --- Intel HEX: at an address, across 64 KiB, read back by two tools ---

for address in 0x08040000 134479808 0x0001ffc0 0xfff00000; do
    expect "hex at $address" 0 "" "$FIRNC" export "$plan" --hex --address $address -o "$folder/hex"
    for tool in arm-none-eabi- riscv64-unknown-elf-; do
        rm -f "$folder/back"
        ${tool}objcopy -I ihex -O binary "$folder/hex" "$folder/back"
        cmp -s "$folder/wanted" "$folder/back" || fail "hex at $address: $tool reads other bytes"
    done
    begin=$(arm-none-eabi-objdump -h "$folder/hex" | awk '$2 == ".sec1" { print $4 }')
    [ $((0x$begin)) -eq $((address)) ] || fail "hex at $address: begins at $begin"
done
"$FIRNC" export "$plan" --hex --address 0xfff00000 | cmp -s - "$folder/hex" || fail "a file and standard output differ"

# --- a C array ---

expect "array" 0 "" "$FIRNC" export "$plan" --array -o "$folder/array.c"
grep -qx "$folder/array.c: $(wc -c <"$folder/array.c") bytes" "$folder/out" || fail "export does not say what it wrote"
cat >"$folder/print.c" <<'END'
#include <stdint.h>
#include <stdio.h>
extern const uint8_t firn_plan_region[];
extern const uint32_t firn_plan_bytes;
int main(void) {
    return (uintptr_t)firn_plan_region % 64 != 0 || fwrite(firn_plan_region, 1, firn_plan_bytes, stdout) != firn_plan_bytes;
}
END
gcc -std=c11 -Wall -Wextra -Wpedantic -Werror "$folder/array.c" "$folder/print.c" -o "$folder/print"
"$folder/print" >"$folder/back" || fail "array: not aligned"
cmp -s "$folder/wanted" "$folder/back" || fail "array: other bytes"

# --- ELF: a program to flash, and an object that is linked into the example ---

for machine in arm riscv; do
    tool=arm-none-eabi-
    [ $machine = arm ] || tool=riscv64-unknown-elf-
    expect "elf for $machine" 0 "" "$FIRNC" export "$plan" --elf --machine $machine -o "$folder/$machine.o"
    expect "placed elf for $machine" 0 "" "$FIRNC" export "$plan" --elf --machine $machine --address 0x21000000 \
        -o "$folder/$machine.elf"
    for file in "$folder/$machine.o" "$folder/$machine.elf"; do
        ${tool}readelf -aW "$file" >"$folder/out" 2>"$folder/err"
        [ ! -s "$folder/err" ] || fail "$file: readelf complains"
        ${tool}objcopy -O binary -j .firn_plan "$file" "$folder/back"
        cmp -s "$folder/wanted" "$folder/back" || fail "$file: other bytes"
        grep -q '\.firn_plan .* A  0   0 64$' "$folder/out" || fail "$file: the section is not read-only or not aligned"
    done
    ${tool}nm "$folder/$machine.elf" >"$folder/out"
    grep -q '^21000000 R firn_plan_region$' "$folder/out" || fail "$machine: no symbol for the begin"
    grep -q "^$(printf %08x $((0x21000000 + length))) R firn_plan_region_end\$" "$folder/out" || fail "$machine: nor the end"
    ${tool}readelf -lW "$folder/$machine.elf" | grep -q 'LOAD  *0x000080 0x21000000 0x21000000 .* R  *0x40' ||
        fail "$machine: nothing to load at the address"
done
expect "key" 0 "" "$FIRNC" export "$folder/test.pub.pem" --c -o "$folder/key.c"
for target in cortex-m4f cortex-m0plus rv32 rv32imac; do
    machine=arm
    case $target in rv32*) machine=riscv ;; esac
    # The variables of targets.mk, as make reads them.
    settings=$(printf 'include runtime/targets/targets.mk\nall:\n\t@echo "$(%s_CROSS)gcc $(%s_MACHINE) $(%s_LIBC)"\n\t@echo $(%s_SCRIPT)\n' \
        $target $target $target $target | make -s -f - all)
    compiler=$(echo "$settings" | head -n 1)
    cat >"$folder/main.c" <<'END'
#include <stdint.h>
extern const uint8_t firn_plan_region[], firn_plan_region_end[], firn_public_key[64];
volatile uint32_t sum;
void firn_start(void);
void firn_start(void) {
    for (const uint8_t *at = firn_plan_region; at < firn_plan_region_end; at++)
        sum += (uint32_t)*at + firn_public_key[sum & 63u];
}
END
    # Split into words on purpose; the board's script places the section where the board has its plan.
    $compiler -std=c11 -Os -Wall -Wextra -Werror -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings \
        -T "$(echo "$settings" | tail -n 1)" "$folder/main.c" "$folder/key.c" "$folder/$machine.o" -o "$folder/linked" ||
        fail "$target: not linked"
    tool=${compiler%%gcc*}
    ${tool}objcopy -O binary -j .firn_plan "$folder/linked" "$folder/back"
    cmp -s "$folder/wanted" "$folder/back" || fail "$target: the program has other bytes"
    section=$(${tool}readelf -SW "$folder/linked" | sed -n 's/.*\.firn_plan *PROGBITS *\([0-9a-f]*\).*/\1/p')
    [ "$section" = "$(${tool}nm "$folder/linked" | sed -n 's/ . firn_plan_region$//p')" ] ||
        fail "$target: the section is at $section, not at firn_plan_region"
done

# --- keys ---

numbers() {
    grep -o '0x[0-9a-f][0-9a-f]\>' "$1" | sed 's/0x//' | tr -d '\n'
}
expect "two keys" 0 "" "$FIRNC" export "$folder/test.pub.pem" --c --with "$folder/other.pub.pem" -o "$folder/keys.c"
[ "$(numbers "$folder/key.c")" = "$(runtime/targets/emulated/public-key "$folder/test.pub.pem" | od -A n -v -t x1 | tr -d ' \n')" ] ||
    fail "the array is not X and Y"
expect "the other key" 0 "" "$FIRNC" export "$folder/other.pub.pem" --c -o "$folder/other.c"
[ "$(numbers "$folder/keys.c")" = "$(numbers "$folder/key.c")$(numbers "$folder/other.c")" ] || fail "two keys are not both"
gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -c "$folder/keys.c" -o "$folder/keys.o"

# --- what is refused, each with one line, and nothing that was there is lost ---

printf before >"$folder/kept"
hex="--hex --address 0x40"
refuse() {
    expect "$@"
    [ "$(cat "$folder/kept")" = before ] || fail "$1: the output was touched"
}
"$FIRNC" compile runtime/targets/size.yaml --mode train --unsigned --pub "$folder/test.pub.pem" -o "$folder/open" >"$folder/log"
cp "$plan" "$folder/damaged"
printf x | dd of="$folder/damaged" bs=1 seek=3000 conv=notrunc 2>"$folder/log"
for form in "$hex" "--elf --machine arm" --array; do
    refuse "unsigned $form" 3 "not signed" "$FIRNC" export "$folder/open" $form -o "$folder/kept"
    refuse "damaged $form" 3 "refused" "$FIRNC" export "$folder/damaged" $form -o "$folder/kept"
    refuse "no plan $form" 3 "refused" "$FIRNC" export "$folder/test.pub.pem" $form -o "$folder/kept"
    refuse "missing $form" 1 "none" "$FIRNC" export "$folder/none" $form -o "$folder/kept"
    refuse "with $form" 2 "only with --c" "$FIRNC" export "$plan" $form --with "$plan" -o "$folder/kept"
    refuse "itself $form" 2 "would replace" "$FIRNC" export "$plan" $form -o "$plan"
done
for address in 0x 0x10 63 -64 0x100000000 0x12g0 4294967296; do
    refuse "address '$address'" 2 "multiple of 64" "$FIRNC" export "$plan" --hex --address "$address" -o "$folder/kept"
done
last=$((0x100000000 - (length + 63) / 64 * 64)) # where the plan ends in the last 64 bytes
for form in --hex "--elf --machine arm" "--elf --machine riscv"; do
    refuse "beyond 32 bits $form" 1 "lower --address" "$FIRNC" export "$plan" $form --address 0xffffffc0 -o "$folder/kept"
    refuse "64 beyond $form" 1 "lower --address" "$FIRNC" export "$plan" $form --address $((last + 64)) -o "$folder/kept"
done
expect "hex at the end" 0 "" "$FIRNC" export "$plan" --hex --address $last -o "$folder/out.hex"
expect "elf before the end" 0 "" "$FIRNC" export "$plan" --elf --machine arm --address $((last - 64)) -o "$folder/out.elf"
refuse "no address" 2 "add --address" "$FIRNC" export "$plan" --hex -o "$folder/kept"
refuse "no form" 2 "add one of the five" "$FIRNC" export "$plan" -o "$folder/kept"
refuse "two forms" 2 "add one of the five" "$FIRNC" export "$plan" --c $hex -o "$folder/kept"
refuse "no machine" 2 "add --machine" "$FIRNC" export "$plan" --elf -o "$folder/kept"
refuse "other machine" 2 "add --machine" "$FIRNC" export "$plan" --elf --machine mips -o "$folder/kept"
refuse "machine of hex" 2 "only with --elf" "$FIRNC" export "$plan" $hex --machine arm -o "$folder/kept"
refuse "address of c" 2 "only with --hex" "$FIRNC" export "$plan" --c --address 64 -o "$folder/kept"
refuse "elf to standard output" 2 "add -o" "$FIRNC" export "$plan" --elf --machine arm
refuse "secret key" 1 "holds a private key of the curve P-256, and the public key " "$FIRNC" export "$folder/test.key.pem" --c -o "$folder/kept"
refuse "a key with a plan" 2 "of one kind" "$FIRNC" export "$folder/test.pub.pem" --c --with "$plan" -o "$folder/kept"
refuse "a plan with a key" 2 "of one kind" "$FIRNC" export "$plan" --c --with "$folder/test.pub.pem" -o "$folder/kept"
cp "$folder/test.pub.pem" "$folder/copy.pub.pem"
refuse "a key twice" 1 "copy.pub.pem: is the same key as .*test.pub.pem" "$FIRNC" export "$folder/test.pub.pem" --c \
    --with "$folder/other.pub.pem" --with "$folder/copy.pub.pem" -o "$folder/kept"
many=
for i in $(seq 32); do
    many="$many --with $folder/copy.pub.pem"
done
# Split into words on purpose.
refuse "33 keys" 2 "33 keys, and a firmware has 32 at most" "$FIRNC" export "$folder/test.pub.pem" --c $many -o "$folder/kept"
refuse "a folder that is not there" 1 "nowhere" "$FIRNC" export "$plan" $hex -o "$folder/nowhere/hex"

[ "$failures" -eq 0 ]
