# Prints the bytes of each part of a linked program, from the linker's map, as a table or, with form=list, as lines
# "target variant part bytes" of what lies in flash. Requires LC_ALL=C and exactly one map.

function part_of(path) {
    if (path ~ /signature\.o\)?$/)
        return "signature"
    if (path ~ /\.ltrans[0-9]*\./)
        return "linked as one"
    if (path ~ /\/library\/parts\//)
        return "tables of parts"
    if (path ~ /\/runtime\/kernels\//)
        return "kernels"
    if (path ~ /\/runtime\/numerics\//)
        return "numerics"
    if (path ~ /\/libc\/string\.o$/)
        return "of the C library"
    if (path ~ /\/runtime\/targets\//)
        return "start and main"
    if (path ~ /\/runtime\//)
        return "executor"
    if (path ~ /\/schedules\//)
        return "schedules"
    if (path ~ /\/plan\//)
        return "plan"
    return path ~ /libgcc\.a/ ? "of the compiler" : "of the C library"
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

function in_flash(part) {
    return sizes[part, "text"] + sizes[part, "rodata"] + sizes[part, "data"]
}

function row(name, text, rodata, data, bss, flash) {
    printf "    %-20s %8s %8s %8s %8s %8s\n", name, text, rodata, data, bss, flash
}

function list(name, bytes) {
    gsub(" ", "-", name)
    print target, variant, name, bytes
}

END {
    n = split("plan;signature;schedules;executor;numerics;kernels;tables of parts;start and main;linked as one;" \
              "of the C library;of the compiler", parts, ";")
    all = total["text"] + total["rodata"] + total["data"]
    if (form == "list") {
        for (i = 1; i <= n; i++)
            if (in_flash(parts[i]) > 0)
                list(parts[i], in_flash(parts[i]))
        list("without signature", all - in_flash("signature"))
        list("all", all)
        exit
    }
    print target ", " variant ":"
    row("", "text", "rodata", "data", "bss", "flash")
    for (i = 1; i <= n; i++)
        if (in_flash(parts[i]) > 0)
            row(parts[i], sizes[parts[i], "text"] + 0, sizes[parts[i], "rodata"] + 0, sizes[parts[i], "data"] + 0,
                sizes[parts[i], "bss"] + 0, in_flash(parts[i]))
    row("without signature", "", "", "", "", all - in_flash("signature"))
    row("all", total["text"] + 0, total["rodata"] + 0, total["data"] + 0, total["bss"] + 0, all)
}
