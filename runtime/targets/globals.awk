# Prints the bytes of static data in a firmware, from the linker's map, without the blocks and the samples of the example
# (runtime/targets/firmware_main.c), which are of the size that an application chooses. Requires LC_ALL=C and one map.

function bytes_of(words,    i, value) {
    value = 0
    for (i = 3; i <= length(words); i++)
        value = value * 16 + index("0123456789abcdef", substr(words, i, 1)) - 1
    return value
}

function add(section, size, path) {
    if (section !~ /^(\.s?data|\.s?bss|COMMON)/)
        return
    if (path ~ /firmware_main\.o$/ && section !~ /^\.s?bss\.instance$/)
        return
    total += bytes_of(size)
}

/^Linker script and memory map/ { in_map = 1 }
!in_map { next }
/^ [.C][^ ]*$/ { section = $1; next }                                  # a long name: the rest is on the next line
/^ [.C][^ ]* +0x[0-9a-f]+ +0x[0-9a-f]+ / { add($1, $3, $4); section = ""; next }
/^ +0x[0-9a-f]+ +0x[0-9a-f]+ / { if (section != "") add(section, $2, $3) }
{ section = "" }

END { print total + 0 }
