# Prints the bytes of each part of a linked program, from the linker's map. Requires LC_ALL=C and exactly one map.

function part_of(path) {
    if (path ~ /\/signature\.o$/)
        return "signature, mbedTLS"
    if (path ~ /\/kernels\.a\(/ || path ~ /\/runtime\/kernels\// || path ~ /\/table-on-demand\.o$/)
        return "kernels"
    if (path ~ /\/runtime\/numerics\//)
        return "numerics"
    if (path ~ /\/runtime\/targets\//)
        return "start and main"
    if (path ~ /\/runtime\//)
        return "executor"
    if (path ~ /\/schedules\//)
        return "schedules"
    if (path ~ /\/plan\//)
        return "plan"
    return path ~ /libgcc\.a/ ? "soft doubles" : "memcpy and so on"
}

function kind_of(section) {
    if (section ~ /^\.(text|vectors)/)
        return "text"
    if (section ~ /^\.s?rodata/)
        return "rodata"
    if (section ~ /^\.s?data/)
        return "data"
    return section ~ /^(\.s?bss|COMMON)/ ? "bss" : ""
}

/^Linker script and memory map/ { in_map = 1 }
!in_map { next }
/^ [.C][^ ]*$/ { section = $1; next }                                  # a long name: the rest is on the next line
/^ [.C][^ ]* +0x[0-9a-f]+ +0x[0-9a-f]+ / { add($1, $3, $4); section = ""; next }
/^ +0x[0-9a-f]+ +0x[0-9a-f]+ / { if (section != "") add(section, $2, $3) }
{ section = "" }

function hexadecimal(words,    i, value) {
    value = 0
    for (i = 3; i <= length(words); i++)
        value = value * 16 + index("0123456789abcdef", substr(words, i, 1)) - 1
    return value
}

function add(name, bytes, path,    kind) {
    kind = kind_of(name)
    if (kind == "")
        return
    sizes[part_of(path), kind] += hexadecimal(bytes)
    total[kind] += hexadecimal(bytes)
}

function row(name, text, rodata, data, bss) {
    printf "    %-20s %8s %8s %8s %8s\n", name, text, rodata, data, bss
}

END {
    row("", "text", "rodata", "data", "bss")
    n = split("plan;signature, mbedTLS;schedules;executor;numerics;kernels;start and main;memcpy and so on;soft doubles",
              parts, ";")
    for (i = 1; i <= n; i++)
        row(parts[i], sizes[parts[i], "text"] + 0, sizes[parts[i], "rodata"] + 0, sizes[parts[i], "data"] + 0,
            sizes[parts[i], "bss"] + 0)
    row("all", total["text"] + 0, total["rodata"] + 0, total["data"] + 0, total["bss"] + 0)
}
