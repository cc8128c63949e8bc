/* What is known of the machine and of the code that is measured. Everything is read from what Linux and git say; a
 * missing file or program makes a text "unknown" and is no error. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/targets/host/host.h"
#include "tests/bench/bench.h"

/* The features of CPUs on which the choice or the speed of kernels depends. */
static const char *const features[] = {
    "avx",      "f16c",  "fma",      "avx2",     "avx512f",  "avx512bw", "avx512vl", "avx512_bf16", "avx512_fp16",
    "avx_vnni", "avx10", "amx_tile", "amx_bf16", "amx_fp16", "amx_int8", "asimd",    "asimdhp",     "asimdfhm",
    "bf16",     "i8mm",  "sve",      "sve2",     "svebf16",  "sme",      "fphp",
};

/* Those of them that multiply bfloat16. */
static const char *const bfloat16_features[] = {"avx512_bf16", "amx_bf16", "bf16", "svebf16"};

/* Reads the first line of a file, without its end. */
static bool read_line(char *text, size_t size, const char *path) {
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    const bool read = fgets(text, (int)size, file) != NULL;
    fclose(file);
    if (read)
        text[strcspn(text, "\n")] = 0;
    return read;
}

/* Reads the first line that a command prints, without its end. */
static bool read_command(char *text, size_t size, const char *command) {
    FILE *child = popen(command, "r");
    if (child == NULL)
        return false;
    const bool read = fgets(text, (int)size, child) != NULL;
    while (fgetc(child) != EOF)
        continue;
    const bool good = pclose(child) == 0;
    if (read)
        text[strcspn(text, "\n")] = 0;
    return read && good;
}

/* Reads what /proc/cpuinfo says of the first CPU under a key. */
static bool read_cpuinfo(char *text, size_t size, const char *key) {
    static char line[8192];
    bool found = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        found = strncmp(line, key, strlen(key)) == 0 && colon != NULL;
        if (found)
            bench_format(text, size, "%.*s", (int)strcspn(colon + 1, "\n"), colon + 1);
    }
    if (file != NULL)
        fclose(file);
    return found;
}

static void append(char *text, size_t size, const char *word) {
    const size_t length = strlen(text);
    bench_format(text + length, size - length, "%s%s", length > 0 ? " " : "", word);
}

static void find_features(bench_machine *it) {
    static char flags[8192], wanted[32];
    if (!read_cpuinfo(flags, sizeof flags - 1, "flags") && !read_cpuinfo(flags, sizeof flags - 1, "Features")) {
        bench_format(it->features, sizeof it->features, "unknown");
        return;
    }
    append(flags, sizeof flags, " "); /* so that each flag has a space on both sides */
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        bench_format(wanted, sizeof wanted, " %s ", features[i]);
        if (strstr(flags, wanted) != NULL)
            append(it->features, sizeof it->features, features[i]);
    }
    if (it->features[0] == 0)
        bench_format(it->features, sizeof it->features, "none of those that kernels use");
}

static void find_caches(bench_machine *it) {
    for (int index = 0; index < 8; index++) {
        char path[96], parts[4][16], cache[80];
        static const char *const names[] = {"level", "type", "size", "shared_cpu_list"};
        bool read = true;
        for (int i = 0; i < 4; i++) {
            bench_format(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, names[i]);
            read = read && read_line(parts[i], sizeof parts[i], path);
        }
        if (!read)
            break;
        bench_format(cache, sizeof cache, "%sL%s %s %s (CPUs %s)", index > 0 ? "/ " : "", parts[0], parts[1], parts[2],
                     parts[3]);
        append(it->caches, sizeof it->caches, cache);
    }
    if (it->caches[0] == 0)
        bench_format(it->caches, sizeof it->caches, "unknown");
}

static double read_memory(const char *key) {
    char line[128], pattern[48];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    bench_format(pattern, sizeof pattern, "%s:", key);
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, pattern, strlen(pattern)) == 0) {
            kilobytes = strtoull(line + strlen(pattern), NULL, 10);
            break;
        }
    if (file != NULL)
        fclose(file);
    return 1024.0 * (double)kilobytes;
}

double bench_available_bytes(void) {
    const double bytes = read_memory("MemAvailable");
    return bytes > 0.0 ? bytes : 0x1p31;
}

static void find_commit(bench_machine *it) {
    char changes[128];
    if (!read_command(it->commit, sizeof it->commit - 16, "git rev-parse HEAD 2>/dev/null"))
        bench_format(it->commit, sizeof it->commit, "unknown");
    else if (read_command(changes, sizeof changes, "git status --porcelain --untracked-files=no 2>/dev/null"))
        append(it->commit, sizeof it->commit, "changed");
}

/* On AArch64 /proc/cpuinfo names no CPU, but a Raspberry Pi and others have a line "Model" of the board, and every core
 * says its maker and part in numbers. */
static void find_name(bench_machine *it) {
    char maker[32] = "", part[32] = "";
    if (!read_cpuinfo(it->name, sizeof it->name, "model name") && !read_cpuinfo(it->name, sizeof it->name, "Model"))
        bench_format(it->name, sizeof it->name, "unknown");
    if (it->name[0] == ' ')
        memmove(it->name, it->name + 1, strlen(it->name));
    if (read_cpuinfo(maker, sizeof maker, "CPU implementer") && read_cpuinfo(part, sizeof part, "CPU part")) {
        const size_t length = strlen(it->name);
        bench_format(it->name + length, sizeof it->name - length, ", CPU%s part%s", maker, part);
    }
}

static bench_machine find(void) {
    bench_machine it = {.cpus = firn_host_cpus(), .memory = read_memory("MemTotal")};
    const time_t now = time(NULL);
    struct tm utc;
    find_name(&it);
    find_features(&it);
    find_caches(&it);
    if (!read_line(it.siblings, sizeof it.siblings, "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"))
        bench_format(it.siblings, sizeof it.siblings, "unknown");
    if (getloadavg(&it.load, 1) != 1)
        it.load = -1.0;
    find_commit(&it);
    strftime(it.date, sizeof it.date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return it;
}

const bench_machine *bench_machine_of(void) {
    static bench_machine machine;
    static bool found;
    if (!found)
        machine = find();
    found = true;
    return &machine;
}

bool bench_multiplies_bfloat16(void) {
    char all[sizeof bench_machine_of()->features + 2], wanted[32];
    bench_format(all, sizeof all, " %s ", bench_machine_of()->features);
    for (size_t i = 0; i < sizeof bfloat16_features / sizeof bfloat16_features[0]; i++) {
        bench_format(wanted, sizeof wanted, " %s ", bfloat16_features[i]);
        if (strstr(all, wanted) != NULL)
            return true;
    }
    return false;
}
