/* firnc: finds the subcommand and hands over. */
#define _XOPEN_SOURCE 700

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "compiler/base/nearest.h"
#include "compiler/commands/commands.h"
#include "compiler/commands/options.h"
#include "compiler/graph/ir.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage;
} commands[] = {
    {"keygen", firnc_keygen_command,
     "firnc keygen NAME                     makes NAME.key.pem (secret) and NAME.pub.pem; never overwrites\n"},
    {"compile", firnc_compile_command,
     "firnc compile RECIPE --mode train|eval --key KEY -o PLAN\n"
     "    [--set a.b=VALUE]...              change a key of the recipe\n"
     "    [--weights F.safetensors]         initial values of the parameters\n"
     "    [--target T]                      portable (default), avx512fp16, armv8.1m\n"
     "    [--dump-after PASS]               print the graph; without -o no plan is written and no key needed\n"
     "    [--security-counter N] [--plan-version N] [--vendor X] [--class X]\n"
     "    [--unsigned --pub PUB]            instead of --key: for firnc sign and firnc attach\n"},
    {"sign", firnc_sign_command,
     "firnc sign PLAN --key KEY -o SIGNATURE    of an unsigned plan\n"
     "firnc sign PLAN --digest              the SHA-256 that a hardware module is to sign\n"},
    {"attach", firnc_attach_command,
     "firnc attach PLAN --signature SIGNATURE --pub PUB -o SIGNED    64 raw bytes or DER\n"},
    {"inspect", firnc_inspect_command,
     "firnc inspect PLAN [--json]           what is in a plan: memory, ops, schedule, sizes, totals\n"
     "firnc inspect PLAN --kernels          the kernels that it needs, for a firmware link\n"},
    {"schedule", firnc_schedule_command,
     "firnc schedule RECIPE|PLAN [--steps A:B] [--set a.b=VALUE]...    learning rates as CSV, of the\n"
     "    optimizer steps A to B - 1\n"},
    {"verify", firnc_verify_command,
     "firnc verify PLAN --pub PUB [--counter FILE]    every check that a device makes\n"},
    {"compare", firnc_compare_command,
     "firnc compare RECIPE --data F -o FOLDER    trains in float32 and in each half type and POL; table, CSV, SVG\n"
     "    [--types float16,bfloat16,cbfloat16] [--pol 0,1,2] [--lowering emulate|native] [--steps N] [--labels F]\n"
     "    [--sample-weights F] [--target T] [--weights F.safetensors] [--threads N] [--firn RUNNER]\n"
     "    [--set a.b=VALUE]...              --sample-weights: of the records, as firn takes them by --weights\n"},
    {"tune", firnc_tune_command,
     "firnc tune RECIPE --data F -o FOLDER    from float32, keeps each cast and POL that gains time; recipe, report\n"
     "    [--tolerance 0.01] [--least-gain 0.01] and the options of compare from --steps on\n"},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static int print_help(int argc, char **argv) {
    (void)argc;
    (void)argv;
    printf("firnc " FIRNC_VERSION ": freezes a training run into one signed plan\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("%s", commands[i].usage);
    printf("firnc help | --version\n\n"
           "PUB is a public key in PEM, as keygen writes it. -o may be written --output.\n"
           "Exit code: 0 success, 1 a recipe or file is wrong, 2 the command line is wrong, 3 a plan is refused.\n");
    return FIRNC_EXIT_OK;
}

static int print_version(int argc, char **argv) {
    (void)argc;
    (void)argv;
    printf("firnc " FIRNC_VERSION "\n");
    return FIRNC_EXIT_OK;
}

/* The usage of the command argv[0]. */
static int print_usage(int argc, char **argv) {
    (void)argc;
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[0], commands[i].name) == 0)
            printf("%s", commands[i].usage);
    return FIRNC_EXIT_OK;
}

static int fail_unknown(const char *word) {
    const char *names[COMMAND_COUNT + 1] = {NULL};
    for (int i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    firnc_say("firnc: %s: unknown command; the nearest known one is %s", word, firnc_nearest(word, names));
    return FIRNC_EXIT_USAGE;
}

static bool asks_for_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Runs a command; what it printed must have arrived. */
static int run(int (*command)(int argc, char **argv), int argc, char **argv) {
    int status = command(argc, argv);
    if ((fflush(stdout) == 0 && !ferror(stdout)) || status != FIRNC_EXIT_OK)
        return status;
    firnc_say("firnc: standard output cannot be written; make room where it goes");
    return FIRNC_EXIT_WRONG;
}

int main(int argc, char **argv) {
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit of file sizes is to fail, so that its file is tidied away */
    if (argc < 2) {
        firnc_say("firnc: the command is missing; see firnc help");
        return FIRNC_EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 || asks_for_help(argv[1]))
        return run(print_help, argc - 1, argv + 1);
    if (strcmp(argv[1], "--version") == 0)
        return run(print_version, argc - 1, argv + 1);
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run(argc == 3 && asks_for_help(argv[2]) ? print_usage : commands[i].run, argc - 1, argv + 1);
    return fail_unknown(argv[1]);
}
