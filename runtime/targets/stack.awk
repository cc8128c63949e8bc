# Prints the deepest stack of each public function, from the call graphs that gcc writes (-fcallgraph-info=su). Exits
# with 1 if a function can call itself or has a frame whose size is not known at compile time.
#
# With -v linked=FILE only the functions that the file names, one a line (`nm`), are counted: those that are in one
# program. What this program does not have it cannot call, so the bound is that of a plan and its kernels.
#
# A call through a pointer is assumed to reach every function that the pointer can refer to:
#     runtime/execute.c     the kernels; in firn_execute_check only the functions that find kernels and compute their
#                           scratch, in decode only the functions that find kernels
#     the users of parts    the parts: conversions of half types (product.c, sums.c, widen.c, widen_rows.c), rules of
#                           initialisers and metrics, kinds of schedules, flushed sums (firn_product_tile, firn_sums_add,
#                           firn_sums_end)
#     runtime/kernels/*.c   the task bodies: static functions of the runtime that no function calls by name, in the file
#                           of the kernel that runs or in a file without kernels, because a kernel passes only the
#                           bodies of its own file, or calls a function of another that passes its own; in
#                           walk_run of the optimizers, which may be inlined into walk_blocks, only those whose names
#                           end in _run, in sum_blocks only those whose names end in _terms; firn_linear_tiles is a
#                           part and a task body
#     runtime/open.c        the functions of runtime/parts/share.c, and firn_copy_plan
#     runtime/sample.c      the functions of runtime/parts/windows.c, and those of data_part.c, which windows.c calls, too;
#                           the function of runtime/parts/count_batch.c that says which inputs are read
#     runtime/step.c        the function of runtime/parts/count_batch.c that counts, which calls firn_samples_fill; firn_loss_follows_in_tree
#     runtime/initialise.c  the kernel, and firn_copy_weights
#     the rest of runtime/, plan/checks/check.c
#                           the port and the data source, which belong to the platform and are not counted
#     plan/checks/          the semantic rules that are parts
#     the rest of plan/     the shape rules
# Functions of the C library and of the compiler's support library have no frame here; those in use are leaves.

BEGIN {
    FS = "\""
    while (linked != "" && (getline name < linked) > 0)
        is_linked[name] = 1
}

/^node:/ {
    count = split($4, lines, /\\n/)
    if (count < 3)
        next
    split(lines[2], place, ":")
    file[$2] = place[1]
    bytes[$2] = lines[3] + 0
    if (lines[3] ~ /dynamic/ && lines[3] !~ /bounded/)
        unbounded[$2] = 1
}

/^edge:/ {
    calls[$2] = calls[$2] SUBSEP $4
    called[$4] = 1
}

/^node:/ && $2 ~ /^firn_kernel_/ && file[$2] ~ /^runtime\/kernels\// { has_kernels[file[$2]] = 1 }

function name_of(title) {
    sub(/.*:/, "", title)
    return title
}

# A clone that gcc made of a function keeps its name in front of a dot.
function original(title) {
    title = name_of(title)
    sub(/\..*/, "", title)
    return title
}

function is_static(title) {
    return title ~ /:/
}

# Returns true if a pointer called in `caller`, while a kernel of the file `kernel_file` runs, can refer to the function
# `title`.
function may_mean(caller, title, kernel_file,    from) {
    from = file[caller]
    if (original(caller) == "firn_execute_check")
        return title ~ /^firn_kernel_find/ || title ~ /_scratch$/
    if (from == "runtime/execute.c" && original(caller) ~ /^decode$/)
        return title ~ /^firn_kernel_find/
    if (from == "runtime/execute.c")
        return title ~ /^firn_kernel_/ && file[title] ~ /^runtime\/kernels\//
    if (title == "firn_linear_tiles")
        return from == "runtime/kernels/parallel.c" && kernel_file == "runtime/kernels/linear.c"
    if (original(caller) == "firn_product_tile" && title == "firn_product_tile_flushed")
        return 1
    if (original(caller) ~ /^firn_sums_(add|end)$/ && file[title] == "runtime/kernels/images/sums_flushed.c")
        return original(title) == (original(caller) ~ /add$/ ? "add_run" : "end_run")
    if (from ~ /^runtime\/(kernels\/(product|images\/sums)|numerics\/widen(_rows)?)\.c$/)
        return file[title] == "runtime/numerics/half_types.c" && is_static(title)
    if (from == "runtime/kernels/initialise.c")
        return file[title] == "runtime/kernels/initialise_rules.c"
    if (from ~ /^schedules\/schedule(_value)?\.c$/)
        return (file[title] == "schedules/schedule_kinds.c" && is_static(title)) || title == "firn_schedule_is_in_tree"
    if (from == "schedules/schedule_single.c")
        return title == "firn_schedule_rounded"
    if (original(caller) == "check_rings")
        return title == "firn_semantics_are_rings"
    if (from == "plan/checks/semantics_fields.c")
        return title ~ /^firn_semantics_(check_metric|is_output)$/
    if (from == "plan/checks/semantics_flow.c")
        return title ~ /^firn_semantics_is_(gathered|tree)$/
    if (from ~ /^runtime\/kernels\/optimizers/ && original(caller) ~ /^walk_(blocks|run)$/)
        return file[title] ~ /^runtime\/kernels\/optimizers/ && title ~ /_run$/ && !(title in called)
    if (from ~ /^runtime\/kernels\/block_sum/ && original(caller) == "sum_blocks")
        return file[title] ~ /^runtime\/kernels\// && title ~ /_terms$/ && !(title in called)
    if (from ~ /^runtime\/kernels\//)
        return title !~ /_(run|terms)$/ && file[title] ~ /^runtime\// && file[title] !~ /^runtime\/(targets|parts)\// &&
               (is_static(title) || title == "firn_linear_tiles") &&
               !(title in called) && (kernel_file == "" || file[title] == kernel_file || !(file[title] in has_kernels))
    if (from == "runtime/open.c")
        return (file[title] == "runtime/parts/share.c" && is_static(title)) || title == "firn_copy_plan"
    if (from == "runtime/sample.c" && file[title] == "runtime/parts/windows.c")
        return is_static(title)
    if (from == "runtime/sample.c" && file[title] == "runtime/parts/count_batch.c")
        return original(title) == "reads"
    if (from == "runtime/step.c")
        return (file[title] == "runtime/parts/count_batch.c" && is_static(title)) || title == "firn_loss_follows_in_tree"
    if (from == "runtime/parts/count_batch.c")
        return title == "firn_samples_fill"
    if (from ~ /^runtime\/(sample|parts\/windows)\.c$/)
        return file[title] == "runtime/parts/data_part.c"
    if (from == "runtime/initialise.c")
        return title ~ /^(firn_kernel_find|firn_kernel_initialise|firn_copy_weights)$/
    return from ~ /^plan\// && from != "plan/checks/check.c" && title ~ /^firn_shape_/
}

function fault(words) {
    print "stack: " words > "/dev/stderr"
    failed = 1
}

# Returns the deepest stack from a function downwards, its own frame included, while a kernel of a file runs, or none.
# below[] records the deepest callee.
function depth(title, kernel_file,    key, targets, i, n, target, here, deepest) {
    if (!(title in bytes) || (linked != "" && !(name_of(title) in is_linked)))
        return 0
    if (title ~ /^firn_kernel_/ && file[title] in has_kernels)
        kernel_file = file[title]
    key = title SUBSEP kernel_file
    if (key in known)
        return known[key]
    if (title in open_now) {
        fault(name_of(title) " can call itself")
        return 0
    }
    if (title in unbounded)
        fault(name_of(title) " has a frame whose size is not known")
    open_now[title] = 1
    deepest = 0
    n = split(calls[title], targets, SUBSEP)
    for (i = 1; i <= n; i++) {
        if (targets[i] == "__indirect_call") {
            for (target in bytes) {
                if (!may_mean(title, target, kernel_file))
                    continue
                here = depth(target, kernel_file)
                if (here > deepest) {
                    deepest = here
                    below[key] = target
                }
            }
        } else if (targets[i] != "") {
            here = depth(targets[i], kernel_file)
            if (here > deepest) {
                deepest = here
                below[key] = targets[i]
            }
        }
    }
    delete open_now[title]
    known[key] = bytes[title] + deepest
    return known[key]
}

END {
    n = split("firn_open firn_initialise firn_train_step firn_eval_step firn_save firn_restore firn_digest", entries, " ")
    for (i = 1; i <= n; i++) {
        if (linked != "" && !(entries[i] in is_linked))
            continue
        if (!(entries[i] in bytes)) {
            fault("there is no function " entries[i])
            continue
        }
        total = depth(entries[i], "")
        if (brief) {
            print entries[i], total
            continue
        }
        path = kernel_file = ""
        for (title = entries[i]; title != ""; title = below[title SUBSEP kernel_file]) {
            if (title ~ /^firn_kernel_/ && file[title] in has_kernels)
                kernel_file = file[title]
            path = path " " name_of(title) "(" bytes[title] ")"
        }
        printf "    %6d bytes %s\n", total, path
    }
    exit failed
}
