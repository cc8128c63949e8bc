# Builds firnc and firn, and runs every check. `make help` lists the targets.
#
# Variants can be built side by side, each in a folder of its own:
#     make CC=clang BUILD=build/clang
#     make CFLAGS_EXTRA='-O0 -g' BUILD=build/debug
#     make CC='clang --target=aarch64-linux-gnu' BUILD=build/aarch64
# `all` installs no package, and fetches only the source of mbedTLS; demo, test, lint and others install the missing packages
# of .packages/list.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
# A cross compiler is named <machine>-gcc or asked for --target=<machine>; the other tools are <machine>-ar and so on.
CROSS := $(firstword $(patsubst %gcc,%,$(filter %-gcc,$(CC))) $(patsubst --target=%,%-,$(filter --target=%,$(CC))))
ifeq ($(origin AR),default)
AR := $(CROSS)ar
endif
OBJCOPY ?= $(CROSS)objcopy
NM ?= $(CROSS)nm
# The processor for which this compiler compiles: x86_64, i686, aarch64, ...
PROCESSOR := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
# CHECK=1: a build that checks each op and can write a trace (runtime/check/check.h), in a folder of its own.
CHECK ?=
BUILD ?= build$(if $(CHECK),/check)
ifneq ($(words $(BUILD)),1)
$(error BUILD=$(BUILD): name a folder without spaces)
endif
CFLAGS_EXTRA ?=
LDFLAGS_EXTRA ?=
WERROR ?= -Werror
# ccache is used where it is installed; CCACHE= does without. Not for firmware, of which it would lose the call graphs.
CCACHE := $(shell command -v ccache 2>/dev/null)
JOBS ?= $(shell nproc)
# V=1 shows each command in full. Else one line on a terminal says how many files have been made, and which is next; what a
# compiler prints takes its place.
V ?=
MADE :=
quiet = $(if $(V),,@)
say = @$(if $(V),true,$(if $(MAKE_TERMOUT),$(eval MADE += x)printf '\033[K%5d  %s\r' $(words $(MADE)) '$(1)',true))
end_of_line = $(if $(V),,$(if $(MAKE_TERMOUT),@printf '\033[K'))

WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wdouble-promotion -Wmissing-prototypes $(WERROR)
# The numerics require these three: no contraction, square root as an instruction, strict floating point.
FLOATING := -ffp-contract=off -fno-fast-math -fno-math-errno
CFLAGS := -std=c11 -O2 $(FLOATING) $(WARNINGS) -I. -MMD -MP $(if $(CHECK),-DFIRN_CHECK)
# The linker needs the options for word size and sanitizers, too.
MACHINE := $(filter -m%,$(CFLAGS_EXTRA))
# Links several objects into one. Section groups are dissolved, so that a member made local here does not replace a
# member of the same group elsewhere.
PARTIAL_LINK := -r -nostdlib -Wl,--force-group-allocation
LDFLAGS := $(MACHINE) $(filter -fsanitize%,$(CFLAGS_EXTRA)) $(LDFLAGS_EXTRA)

# --- sources -------------------------------------------------------------------------------------------------------

# Of plan/, these are the compiler's; firn on a host has keys/ and costs/ too.
PLAN_HOST_SOURCES := $(wildcard plan/keys/*.c plan/costs/*.c plan/needs.c plan/generated/op_since.c plan/generated/since.c \
    plan/generated/writer.c)
PLAN_SOURCES := $(filter-out plan/signature.c $(PLAN_HOST_SOURCES),$(foreach folder,. checks checkpoint generated shapes slots,\
    $(patsubst plan/./%,plan/%,$(wildcard plan/$(folder)/*.c))))
SCHEDULES_SOURCES := $(wildcard schedules/*.c)
NUMERICS_SOURCES := $(wildcard runtime/numerics/*.c)
KERNELS_SOURCES := $(filter-out runtime/kernels/set.c,$(wildcard runtime/kernels/*.c runtime/kernels/elements/*.c runtime/kernels/images/*.c runtime/kernels/layout/*.c runtime/kernels/losses/*.c runtime/kernels/norms/*.c runtime/kernels/optimizers/*.c runtime/kernels/recurrent/*.c runtime/kernels/reduce/*.c))
CORE_SOURCES := $(wildcard runtime/*.c runtime/parts/*.c runtime/decode/*.c $(if $(CHECK),runtime/check/*.c))
TARGETS_COMMON := $(filter-out runtime/targets/firmware_main.c,$(wildcard runtime/targets/*.c))
# What only the processors of targets.mk compile.
ON_BOARDS := $(patsubst %,runtime/targets/emulated/%.c,semihosting runner_board)
IMAGES_SOURCES := $(wildcard runtime/targets/host/images/*.c)
HOST_SOURCES := $(TARGETS_COMMON) $(IMAGES_SOURCES) $(wildcard runtime/targets/host/*.c runtime/targets/host/program/*.c runtime/targets/host/tables/*.c plan/keys/*.c plan/costs/*.c)
# The sources of the programs that are not in a library.
FIRN_SOURCES := $(filter-out runtime/cli/main.c,$(wildcard runtime/cli/*.c runtime/cli/outputs/*.c runtime/cli/tables/*.c runtime/chart/*.c runtime/report/*.c runtime/manual/*.c runtime/program/*.c runtime/text/*.c))
# The page of firn report, which becomes a part of the program.
PAGE_FILES := $(addprefix runtime/report/,page.html page.css page.js)
PAGE := $(BUILD)/report/page_parts.o
# What firn-mpi has beside them: steps that several processes share, and MPI, which only that program needs.
RANKS_SOURCES := $(wildcard runtime/ranks/*.c)
MPI_SOURCES := $(wildcard runtime/mpi/*.c)
FIRNC_SOURCES := $(filter-out compiler/commands/main.c,$(wildcard compiler/commands/*.c compiler/commands/inspect/*.c compiler/firmware/*.c compiler/studies/*.c))
COMPILER_SOURCES := $(filter-out compiler/commands/% compiler/firmware/% compiler/studies/% compiler/examples/%,$(wildcard compiler/*.c compiler/*/*.c compiler/models/images/*.c compiler/onnx/ops/*.c compiler/passes/gradients/*.c compiler/passes/evaluation/*.c)) runtime/manual/nearest.c
ONNX_SOURCES := $(wildcard compiler/onnx/*.c compiler/onnx/ops/*.c)
UNIT_TESTS := $(wildcard tests/unit/test_*.c)
UNIT_SUPPORT := $(filter-out $(UNIT_TESTS),$(wildcard tests/unit/*.c tests/unit/*.cc))

# Libraries that firn is built without where the compiler does not find them: PNG= and JPEG= leave them out. The compiler is
# asked once, by the first recipe that links or compiles for them.
links = $(shell printf '%s\n' '$(hash)include <stdio.h>' '$(hash)include <$(1)>' 'int main(void) { return 0; }' | \
    $(CC) $(CFLAGS_EXTRA) -x c - -o /dev/null $(LDFLAGS_EXTRA) $(2) >/dev/null 2>&1 && echo $(2))
hash := \#
ifeq ($(origin PNG),undefined)
PNG = $(eval PNG := $(call links,png.h,-lpng))$(PNG)
endif
ifeq ($(origin JPEG),undefined)
JPEG = $(eval JPEG := $(call links,jpeglib.h,-ljpeg))$(JPEG)
endif
IMAGES_FLAGS = $(if $(PNG),-DFIRN_PNG) $(if $(JPEG),-DFIRN_JPEG)
# What programs that read data link.
HOST_LIBRARIES = -lcjson $(PNG) $(JPEG) -lz

object = $(patsubst %,$(BUILD)/objects/%.o,$(basename $(1)))
comma := ,

# --- mbedTLS -------------------------------------------------------------------------------------------------------
# mbedTLS is built from source, twice: with plan/mbedtls_config.h for checking plans, without a heap, and with
# compiler/emit/mbedtls_config.h for firnc's keys and signatures.

include plan/mbedtls_sources.mk compiler/emit/mbedtls_sources.mk
MBEDTLS_FETCHED := .cache/mbedtls-$(MBEDTLS_VERSION)
MBEDTLS_SOURCE ?= $(MBEDTLS_FETCHED)
MBEDTLS_FLAGS := -isystem $(MBEDTLS_SOURCE)/include -isystem $(MBEDTLS_SOURCE)/3rdparty/p256-m \
    -DMBEDTLS_CONFIG_FILE='"plan/mbedtls_config.h"'
SIGNING_FLAGS := -isystem $(MBEDTLS_SOURCE)/include -DMBEDTLS_CONFIG_FILE='"compiler/emit/mbedtls_config.h"'

$(MBEDTLS_FETCHED)/ready:
	@.packages/fetch-source mbedtls $(MBEDTLS_VERSION) $(MBEDTLS_SHA256) $(MBEDTLS_FETCHED)

ifeq ($(MBEDTLS_SOURCE),$(MBEDTLS_FETCHED))
MBEDTLS_READY := $(MBEDTLS_FETCHED)/ready
endif

# --- objects -------------------------------------------------------------------------------------------------------

# This file changes when the compiler or its flags change, so that one build folder never mixes objects of two variants.
# Flags that a rule adds are not included.
ALL_FLAGS = $(CC) $(CFLAGS) $(CFLAGS_EXTRA) $(MBEDTLS_FLAGS) $(SIGNING_FLAGS) $(IMAGES_FLAGS) $(foreach set,$(SETS) $(MODELS),$($(set)_FLAGS))
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(ALL_FLAGS)' | cmp -s - $@ || echo '$(ALL_FLAGS)' > $@

# This one changes when other kernel sets are left out, which changes what is linked and no object.
$(BUILD)/left-out: FORCE
	@mkdir -p $(@D)
	@echo '$(LEAVE_OUT)' | cmp -s - $@ || echo '$(LEAVE_OUT)' > $@
.PHONY: FORCE
FORCE:

# gcc warns about vectors that plain x86 passes in memory; here they are only passed within one file. sample.c converts
# samples in loops like those of a kernel.
$(call object,$(KERNELS_SOURCES) $(NUMERICS_SOURCES) runtime/sample.c): private CFLAGS += -O3 -Wno-psabi
$(call object,plan/signature.c): private CFLAGS += $(MBEDTLS_FLAGS)
$(call object,plan/signature.c): | $(MBEDTLS_READY)
# The tests use the same mbedTLS as firnc, beside the one that they test.
USE_SIGNING := $(call object,compiler/emit/sign.c $(UNIT_TESTS) $(filter %.c,$(UNIT_SUPPORT)))
$(USE_SIGNING): private CFLAGS += $(SIGNING_FLAGS)
$(USE_SIGNING): | $(MBEDTLS_READY)

$(call object,$(IMAGES_SOURCES)): private PROBED = $(IMAGES_FLAGS)

$(BUILD)/objects/%.o: %.c $(BUILD)/flags
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)$(CCACHE) $(CC) $(CFLAGS) $(PROBED) $(CFLAGS_EXTRA) -c $< -o $@

$(BUILD)/objects/%.o: %.cc $(BUILD)/flags $(BUILD)/oracle/plan_generated.h
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)$(CCACHE) $(CXX) -std=c++17 -O1 -Wall -Wextra -MMD -MP -I. -I$(BUILD)/oracle $(CFLAGS_EXTRA) -c $< -o $@

$(BUILD)/oracle/plan_generated.h: plan/plan.fbs
	@mkdir -p $(@D)
	$(quiet)flatc --cpp -o $(@D) $<

$(BUILD)/mbedtls/%.o: $(BUILD)/flags plan/mbedtls_config.h $(MBEDTLS_READY)
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)$(CCACHE) $(CC) -std=c11 -O2 -w -MMD -MP -I. $(MBEDTLS_FLAGS) $(CFLAGS_EXTRA) -c $(MBEDTLS_SOURCE)/$*.c -o $@

$(BUILD)/signing/%.o: $(BUILD)/flags compiler/emit/mbedtls_config.h $(MBEDTLS_READY)
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)$(CCACHE) $(CC) -std=c11 -O2 -w -MMD -MP -I. $(SIGNING_FLAGS) $(CFLAGS_EXTRA) -c $(MBEDTLS_SOURCE)/$*.c -o $@

# x86 has instructions for SHA-256. Our function that uses them replaces the one that mbedTLS calls for each block;
# mbedTLS's own function is kept under another name for CPUs without these instructions. Not in 32-bit builds, which are
# only for tests.
SHA256_OBJECTS := $(BUILD)/mbedtls/library/sha256.o
ifeq ($(filter x86_64,$(PROCESSOR))$(filter -m32,$(MACHINE)),x86_64)
SHA256_X86 := runtime/targets/x86/sha256.c
SHA256_OBJECTS := $(BUILD)/mbedtls/sha256-caller.o $(BUILD)/mbedtls/sha256-portable.o $(call object,$(SHA256_X86))
$(BUILD)/mbedtls/sha256-caller.o: private SHA256_FLAGS := -DMBEDTLS_SHA256_PROCESS_ALT
$(BUILD)/mbedtls/sha256-portable.o: private SHA256_FLAGS := -Dmbedtls_internal_sha256_process=portable_sha256_process
$(BUILD)/mbedtls/sha256-portable.o: private SHA256_SHOWN := --keep-global-symbol=portable_sha256_process
$(call object,$(SHA256_X86)): private CFLAGS += $(MBEDTLS_FLAGS)
$(call object,$(SHA256_X86)): | $(MBEDTLS_READY)
endif

$(BUILD)/mbedtls/sha256-%.o: $(BUILD)/flags plan/mbedtls_config.h $(MBEDTLS_READY)
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)$(CCACHE) $(CC) -std=c11 -O2 -w -MMD -MP -I. $(MBEDTLS_FLAGS) $(SHA256_FLAGS) $(CFLAGS_EXTRA) \
	    -c $(MBEDTLS_SOURCE)/library/sha256.c -o $@
	$(quiet)$(OBJCOPY) $(SHA256_SHOWN) $@

# protoc-c writes the reader of ONNX files from our description of them. Its code has warnings of its own, and assertions,
# which would end the process of whoever uses libfirnc.
ONNX_READER := $(BUILD)/onnx/reader.o
ONNX_FLAGS := -isystem $(BUILD)
$(BUILD)/onnx/onnx.pb-c.c: compiler/onnx/onnx.proto | packages
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)protoc-c --proto_path=$(<D) --c_out=$(@D) $(<F)
$(ONNX_READER): $(BUILD)/onnx/onnx.pb-c.c $(BUILD)/flags
	$(call say,$@)
	$(quiet)$(CCACHE) $(CC) -std=c11 -O2 -w -DNDEBUG -I$(@D) $(CFLAGS_EXTRA) -c $< -o $@
$(call object,$(ONNX_SOURCES) tests/unit/test_onnx_ops.c): private CFLAGS += $(ONNX_FLAGS)
$(call object,$(ONNX_SOURCES) tests/unit/test_onnx_ops.c): | $(BUILD)/onnx/onnx.pb-c.c

$(BUILD)/report/page_parts.c: runtime/report/embed $(PAGE_FILES)
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)runtime/report/embed $(PAGE_FILES) >$@
$(PAGE): $(BUILD)/report/page_parts.c $(BUILD)/flags
	$(call say,$@)
	$(quiet)$(CCACHE) $(CC) -std=c11 -O2 -w $(CFLAGS_EXTRA) -c $< -o $@

# Links the signature check and its mbedTLS into one object that exports only firn_*, because firnc has another build of
# mbedTLS, for signing.
$(BUILD)/signature.o: $(call object,plan/signature.c) $(SHA256_OBJECTS) \
		$(patsubst %.c,$(BUILD)/mbedtls/%.o,$(filter-out library/sha256.c,$(MBEDTLS_SOURCES)))
	$(call say,$@)
	$(quiet)$(CC) $(MACHINE) $(PARTIAL_LINK) $^ -o $@
	$(quiet)$(OBJCOPY) --wildcard --keep-global-symbol='firn_*' $@

# Likewise keys and signing, because users of libfirnc may link an mbedTLS of their own.
$(BUILD)/sign.o: $(call object,compiler/emit/sign.c) $(patsubst %.c,$(BUILD)/signing/%.o,$(SIGNING_SOURCES))
	$(call say,$@)
	$(quiet)$(CC) $(MACHINE) $(PARTIAL_LINK) $^ -o $@
	$(quiet)$(OBJCOPY) --wildcard --keep-global-symbol='firnc_*' $@

# --- the kernel sets -----------------------------------------------------------------------------------------------
# Seven sets on x86: plain and fma are the portable sources, without and with fused multiply-add as an instruction. avx2
# and avx512 are the portable sources and the kernels of runtime/kernels/vector, whose widen.c replaces the portable
# one. avx512fp16 holds linear layers, matmul and attention with float16 sums in chunks and calls avx512 for all else. amx and
# avx512bf16 hold the products, the attention, the convolutions and the recurrence that their matrix engines compute, and no
# others. Three sets on AArch64: plain, neon with the kernels of runtime/kernels/vector, and neonfp16, which holds the kernels of
# avx512fp16 and calls neon for all else.
# A set exports one name, firn_kernel_find_<set>; runtime/targets/x86/select.c and runtime/targets/aarch64/select.c select a
# set, and the former completes amx and avx512bf16. Other machines use runtime/kernels/table.c directly; so do builds with
# PORTABLE=1, for which the bits are what counts.
# <set>_SHARED are the sources that <set>_BASE compiles for both: the further flags of the set change nothing in them, because
# none of them asks for the set's instructions and gcc uses none of these by itself. The code is the same to the byte.

KERNEL_SET := $(KERNELS_SOURCES) $(NUMERICS_SOURCES)
NATIVE_SOURCES := $(patsubst %,runtime/kernels/vector/chunked/%.c,native native_table half_pack half_tile half_attention)
ENGINE_SOURCES := $(patsubst %,runtime/kernels/vector/engine/%.c,product words division attention_products windows conv conv_weight recurrent)
AMX_SOURCES := $(patsubst %,runtime/kernels/vector/engine/%.c,amx amx_table)
PAIRS_SOURCES := $(patsubst %,runtime/kernels/vector/engine/%.c,pairs pairs_table)
VECTOR_SOURCES := $(filter-out $(NATIVE_SOURCES) $(ENGINE_SOURCES) $(AMX_SOURCES) $(PAIRS_SOURCES),$(wildcard runtime/kernels/vector/*.c runtime/kernels/vector/*/*.c))
# With the windows of convolutions, which those with chunked sums have, too.
VECTOR_SET := $(filter-out runtime/numerics/widen.c,$(KERNEL_SET)) $(VECTOR_SOURCES) runtime/kernels/vector/engine/windows.c

fma_FLAGS := -O3 -mavx2 -mfma -Dfirn_kernel_find=firn_kernel_find_fma
fma_SOURCES := $(KERNEL_SET)
avx2_FLAGS := -O3 -mavx2 -mfma -mf16c -Dfirn_kernel_find_vector=firn_kernel_find_avx2
avx2_SOURCES := $(VECTOR_SET)
avx2_BASE := fma
avx2_SHARED := $(filter-out runtime/kernels/table.c,$(filter $(fma_SOURCES),$(avx2_SOURCES)))
avx512_FLAGS := -O3 -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512dq -mprefer-vector-width=512 \
    -Dfirn_kernel_find_vector=firn_kernel_find_avx512
avx512_SOURCES := $(VECTOR_SET)
NATIVE_SET := $(NATIVE_SOURCES) \
    $(patsubst %,runtime/kernels/vector/%.c,pieces pack widen chunked/cut $(patsubst %,attention/%,forward backward scores stores work)) \
    $(patsubst %,runtime/kernels/%.c,attention blocks) $(filter-out runtime/numerics/widen.c,$(NUMERICS_SOURCES))
avx512fp16_FLAGS := $(avx512_FLAGS) -mavx512fp16 -Dfirn_kernel_find_native=firn_kernel_find_avx512fp16
avx512fp16_SOURCES := $(NATIVE_SET)
avx512fp16_BASE := avx512
avx512fp16_SHARED := $(filter $(avx512_SOURCES),$(NATIVE_SET))
# With the convolutions that are emulated whatever the engine is.
ENGINE_SET := $(ENGINE_SOURCES) $(filter-out %/pool.c,$(wildcard runtime/kernels/vector/images/*.c)) \
    $(patsubst %,runtime/kernels/vector/%.c,pieces pack widen product token/row recurrent_weight tile engine/tile $(patsubst %,attention/%,forward backward scores stores work)) \
    $(patsubst %,runtime/kernels/%.c,linear attention blocks flushed_parts product quads $(patsubst %,images/%,conv sums sums_flushed) reduce/matmul reduce/product_flushed $(patsubst %,recurrent/%,gru lstm rnn steps weight)) \
    $(filter-out runtime/numerics/widen.c,$(NUMERICS_SOURCES))
amx_FLAGS := $(avx512_FLAGS) -mamx-tile -mamx-bf16 -mavx512bf16
amx_SOURCES := $(AMX_SOURCES) $(ENGINE_SET)
amx_BASE := avx512
amx_SHARED := $(filter $(avx512_SOURCES),$(ENGINE_SET))
avx512bf16_FLAGS := $(avx512_FLAGS) -mavx512bf16
avx512bf16_SOURCES := $(PAIRS_SOURCES) $(ENGINE_SET)
avx512bf16_BASE := avx512
avx512bf16_SHARED := $(amx_SHARED)
# The last two and avx512fp16 for tests on a CPU without their instructions, which plain C replaces.
amx_model_FLAGS := $(avx2_FLAGS) -Dfirn_kernel_find_amx=firn_kernel_find_amx_model
amx_model_SOURCES := $(amx_SOURCES)
amx_model_BASE := avx2
amx_model_SHARED := $(amx_SHARED)
avx512bf16_model_FLAGS := $(avx2_FLAGS) -Dfirn_kernel_find_avx512bf16=firn_kernel_find_avx512bf16_model
avx512bf16_model_SOURCES := $(avx512bf16_SOURCES)
avx512bf16_model_BASE := avx2
avx512bf16_model_SHARED := $(avx512bf16_SHARED)
avx512fp16_model_FLAGS := $(avx2_FLAGS) -Dfirn_kernel_find_native=firn_kernel_find_avx512fp16_model
avx512fp16_model_SOURCES := $(avx512fp16_SOURCES)
avx512fp16_model_BASE := avx2
avx512fp16_model_SHARED := $(avx512fp16_SHARED)
ENGINE_MODELS := amx_model avx512bf16_model
MODELS := $(ENGINE_MODELS) avx512fp16_model
# gcc orders the instructions after it has assigned registers, too; doing it before keeps so many factors waiting that
# the sums of a register tile no longer fit. clang does neither, and says that it ignores the option.
neon_FLAGS := -O3 -fno-schedule-insns -Wno-ignored-optimization-argument -Dfirn_kernel_find_vector=firn_kernel_find_neon
neon_SOURCES := $(VECTOR_SET)
neonfp16_FLAGS := $(neon_FLAGS) -march=armv8.2-a+fp16 -Dfirn_kernel_find_native=firn_kernel_find_neonfp16
neonfp16_SOURCES := $(NATIVE_SET)

PORTABLE ?=
X86_SETS := fma avx2 avx512 avx512fp16 amx avx512bf16
AARCH64_SETS := neon neonfp16
SETS := $(if $(PORTABLE),,$(if $(filter x86_64 i%86,$(PROCESSOR)),$(X86_SETS),$(if $(filter aarch64,$(PROCESSOR)),$(AARCH64_SETS))))
# Builds that only run tests need not compile the sets of LEAVE_OUT: where select.c names one of them, it has plain instead.
LEAVE_OUT ?=
# The sets that are linked into one object with their base, so that what they share is in a program once.
WITH_BASE := avx512fp16 amx avx512bf16
ifneq ($(SETS),)
LDFLAGS += $(patsubst %,-Wl$(comma)--defsym=firn_kernel_find_%=firn_kernel_find_plain,$(filter $(SETS),$(LEAVE_OUT)))
KERNEL_OBJECTS := $(patsubst %,$(BUILD)/kernels-%.o,$(filter-out $(LEAVE_OUT) $(WITH_BASE),$(SETS))) \
    $(call object,$(if $(filter neon,$(SETS)),runtime/targets/aarch64/select.c,$(patsubst %,runtime/targets/x86/%.c,select engine_probe)))
$(call object,runtime/kernels/table.c): private CFLAGS += -Dfirn_kernel_find=firn_kernel_find_plain
else
KERNEL_OBJECTS := $(call object,runtime/kernels/set.c)
endif

# The sets with an instruction that this CPU lacks, by what a compiler for this very CPU says that it has: the flag -mavx2
# is the macro __AVX2__. None on a machine where the compiler does not say.
THIS_CPU = $(shell $(CC) -march=native -dM -E -x c /dev/null 2>/dev/null | sed -n 's/^.define __\([A-Z0-9_]*\)__ 1$$/-m\1/p' | \
    tr A-Z_ a-z-)
lacking = $(strip $(foreach set,$(SETS),$(if $(filter-out $(1) -march=% -mprefer-%,$(filter -m%,$($(set)_FLAGS))),$(set))))
LACKED = $(call lacking,$(or $(THIS_CPU),-m%))

# The objects of sources $(2) in set $(1): its own, and those of its base.
set_objects = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(filter-out $($(1)_SHARED),$(2))) \
    $(if $($(1)_BASE),$(call set_objects,$($(1)_BASE),$(filter $($(1)_SHARED),$(2))))
# The sets whose own objects are linked into the object of set $(1).
joined = $(foreach set,$(filter-out $(LEAVE_OUT),$(WITH_BASE)),$(if $(filter $(1),$($(set)_BASE)),$(set)))

# $(1) is the set.
define SET_RULES
$(BUILD)/$(1)/%.o: %.c $(BUILD)/flags
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$$(CCACHE) $$(CC) $$(CFLAGS) $$($(1)_FLAGS) $$(CFLAGS_EXTRA) -c $$< -o $$@

# What the set does not share; its calls of what it shares stay open.
$(BUILD)/$(1)/own.o: $(call set_objects,$(1),$(filter-out $($(1)_SHARED),$($(1)_SOURCES)))
	$$(quiet)$$(CC) $$(MACHINE) $$(PARTIAL_LINK) $$^ -o $$@
	$$(quiet)$$(OBJCOPY) --keep-global-symbol=firn_kernel_find_$(1) $$@

$(BUILD)/kernels-$(1).o: $(call set_objects,$(1),$($(1)_SOURCES)) $(patsubst %,$(BUILD)/%/own.o,$(call joined,$(1))) \
		$(BUILD)/left-out
	$$(call say,$$@)
	$$(quiet)$$(CC) $$(MACHINE) $$(PARTIAL_LINK) $$(filter %.o,$$^) -o $$@
	$$(quiet)$$(OBJCOPY) $(patsubst %,--keep-global-symbol=firn_kernel_find_%,$(1) $(call joined,$(1))) $$@
endef
$(foreach set,$(X86_SETS) $(AARCH64_SETS) $(MODELS),$(eval $(call SET_RULES,$(set))))

# --- libraries and programs ----------------------------------------------------------------------------------------

LIBFIRN := $(BUILD)/libfirn.a
LIBFIRNC := $(BUILD)/libfirnc.a
LIBFIRNHOST := $(BUILD)/libfirnhost.a
# The mbedTLS of compiler/emit/sign.c, which tests call.
LIBSIGNING := $(BUILD)/libsigning.a
# The commands of both programs, for tests that call them.
COMMANDS := $(BUILD)/commands.a
# What firnc writes firmware projects from.
ARCHIVE := $(BUILD)/firmware-archive

$(LIBFIRN): $(call object,$(PLAN_SOURCES) $(SCHEDULES_SOURCES) $(CORE_SOURCES) $(NUMERICS_SOURCES) $(KERNELS_SOURCES)) \
		$(KERNEL_OBJECTS) $(BUILD)/signature.o $(BUILD)/left-out
$(LIBFIRNC): $(call object,$(filter-out compiler/emit/sign.c,$(COMPILER_SOURCES)) $(PLAN_HOST_SOURCES)) $(BUILD)/sign.o $(ONNX_READER)
$(LIBFIRNHOST): $(call object,$(HOST_SOURCES))
$(LIBSIGNING): $(patsubst %.c,$(BUILD)/signing/%.o,$(SIGNING_SOURCES))
$(COMMANDS): $(call object,$(FIRN_SOURCES) $(FIRNC_SOURCES) $(RANKS_SOURCES)) $(PAGE) $(ARCHIVE).o
$(LIBFIRN) $(LIBFIRNC) $(LIBFIRNHOST) $(LIBSIGNING) $(COMMANDS) $(BUILD)/tests/support.a:
	$(call say,$@)
	@mkdir -p $(@D)
	@rm -f $@
	$(quiet)$(AR) rcs $@ $(filter %.o,$^)

# In the archive are the sources of the library without the tables of all parts, which parts.c of a
# project replaces (sources.cmake has the same list), what builds it for a board, and the templates.
PARTS_TABLES := $(patsubst %,%.c,plan/shapes/op_parts plan/checks/rule_parts schedules/parts schedules/tree_part runtime/parts \
    runtime/kernels/flushed_parts runtime/kernels/parts runtime/kernels/threads_part runtime/numerics/half_parts)
ARCHIVED := $(filter-out $(PARTS_TABLES),$(PLAN_SOURCES) $(SCHEDULES_SOURCES) $(CORE_SOURCES) $(NUMERICS_SOURCES) \
    $(KERNELS_SOURCES) runtime/kernels/set.c)
ARCHIVED_BOARDS := $(wildcard runtime/package/firmware/* runtime/targets/*.mk runtime/targets/*.h runtime/targets/cortex-m/* \
    runtime/targets/rv32/*.* runtime/targets/rv32/libc/*.c runtime/targets/rv32/libc/include/* runtime/targets/memory/*.c \
    $(patsubst %,runtime/targets/emulated/%,semihosting.c system.h text.c text.h))
$(ARCHIVE).c: $(call object,$(ARCHIVED) plan/signature.c) $(ARCHIVED_BOARDS) runtime/parts.h runtime/package/mbedtls_config.h $(MBEDTLS_READY)
	$(call say,$@)
	$(quiet)CC='$(CC)' NM='$(NM)' OBJECTS='$(BUILD)/objects' runtime/package/firmware/make-archive $(ARCHIVE) $(MBEDTLS_SOURCE) $(ARCHIVED)
# Without ccache, which does not see that the packed archive has changed.
$(ARCHIVE).o: $(ARCHIVE).c $(BUILD)/flags
	$(quiet)$(CC) $(CFLAGS) $(CFLAGS_EXTRA) -c $< -o $@

$(BUILD)/firnc: $(call object,compiler/commands/main.c $(FIRNC_SOURCES) runtime/chart/chart.c $(wildcard runtime/manual/*.c) runtime/program/descriptors.c runtime/text/utf8.c) \
		$(ARCHIVE).o $(LIBFIRNC) $(LIBFIRN) $(call object,runtime/targets/dataset.c)
	$(call say,$@)
	$(quiet)$(CC) $(LDFLAGS) $^ -o $@ -lyaml -lcjson -lprotobuf-c -lz -lm

$(BUILD)/firn: $(call object,runtime/cli/main.c $(FIRN_SOURCES)) $(PAGE) $(LIBFIRNHOST) $(LIBFIRN)
	$(call say,$@)
	$(quiet)$(CC) $(LDFLAGS) -pthread $^ -o $@ $(HOST_LIBRARIES) -lm

# MPICC is Open MPI's compiler, which is only asked for the flags of its headers and libraries.
MPICC ?= mpicc
MPI_FLAGS = $(patsubst -I%,-isystem %,$(shell $(MPICC) --showme:compile 2>/dev/null))
$(call object,runtime/mpi/transport.c): private CFLAGS += $(MPI_FLAGS)
$(BUILD)/firn-mpi: $(call object,$(MPI_SOURCES) $(RANKS_SOURCES) $(FIRN_SOURCES)) $(PAGE) $(LIBFIRNHOST) $(LIBFIRN)
	$(call say,$@)
	$(quiet)$(CC) $(LDFLAGS) -pthread $^ -o $@ $(HOST_LIBRARIES) $(shell $(MPICC) --showme:link) -lm

.PHONY: mpi
mpi: ## build/firn-mpi beside the others, which runs train and eval on several machines by mpirun (runtime/SCALING.md)
	@.packages/install mpi
	@$(MAKE) --no-print-directory -j$(JOBS) all $(BUILD)/firn-mpi

.PHONY: demo-mpi
demo-mpi: mpi ## trains a small plan in one process and in four of mpirun, with equal digests
	@BUILD=$(BUILD) OUT=$(BUILD)/demo-mpi compiler/recipes/demo_mpi.sh

# Sources that include headers of other packages are compiled after the check for these packages.
.PHONY: packages
packages:
	@OBJCOPY='$(OBJCOPY)' .packages/check $(CC) $(CFLAGS_EXTRA)
$(call object,$(COMPILER_SOURCES) $(HOST_SOURCES) $(FIRN_SOURCES) $(RANKS_SOURCES) $(MPI_SOURCES) $(FIRNC_SOURCES) compiler/commands/main.c): | packages

# The same as libraries for other processes: the core of libfirn with the host's port, and the compiler. They export what the
# public headers declare and nothing else; the objects are those of the archives, which Debian's compilers make independent of
# their address. libfirnc.so has its own copy of what the compiler uses of libfirn.
PORT_SOURCES := $(patsubst %,runtime/targets/host/%.c,blocks input key message plan port replace reserve threads) $(wildcard plan/keys/*.c)
LIBFIRN_SHARED := $(BUILD)/libfirn.so.0
LIBFIRNC_SHARED := $(BUILD)/libfirnc.so.0

# What a program that uses a library may include.
FIRMWARE_HEADERS := runtime/firn.h runtime/decode/decode.h runtime/decode/sampling.h runtime/plan_slots.h runtime/update.h runtime/port_test.h
LIBFIRN_HEADERS := $(FIRMWARE_HEADERS) runtime/targets/host/host.h
LIBFIRNC_HEADERS := compiler/firnc.h compiler/bindings/compile.h
# The public headers $(1) and the headers they include.
with_included = $(sort $(filter %.h %.def,$(shell $(CC) -MM -I. $(1))))

$(BUILD)/libfirn.map: private HEADERS = $(call with_included,$(LIBFIRN_HEADERS))
$(BUILD)/libfirnc.map: private HEADERS = $(call with_included,$(LIBFIRNC_HEADERS))
# Names that are no symbols, such as those of types, have no effect.
$(BUILD)/libfirn.map $(BUILD)/libfirnc.map: $(BUILD)/%.map: $(LIBFIRN_HEADERS) $(LIBFIRNC_HEADERS) $(BUILD)/flags
	$(quiet){ echo '{ global:'; grep -ohw '$(patsubst lib%,%,$*)_[a-z0-9_]*' $(HEADERS) | sort -u | sed 's/$$/;/'; \
	    echo 'local: *; };'; } > $@

SHARED_LINK = $(CC) $(LDFLAGS) -shared -pthread -Wl,-soname,$(@F) -Wl,--version-script=$(filter %.map,$^) -Wl,-z,defs
$(LIBFIRN_SHARED): $(call object,$(PORT_SOURCES)) $(LIBFIRN) $(BUILD)/libfirn.map
	$(call say,$@)
	$(quiet)$(SHARED_LINK) $(filter %.o,$^) -Wl,--whole-archive $(LIBFIRN) -Wl,--no-whole-archive -o $@ -lm
$(LIBFIRNC_SHARED): $(LIBFIRNC) $(LIBFIRN) $(BUILD)/libfirnc.map
	$(call say,$@)
	$(quiet)$(SHARED_LINK) -Wl,--whole-archive $(LIBFIRNC) -Wl,--no-whole-archive $(LIBFIRN) -o $@ -lyaml -lcjson -lprotobuf-c -lz -lm

.PHONY: shared
shared: $(LIBFIRN_SHARED) $(LIBFIRNC_SHARED) ## libfirn.so.0 and libfirnc.so.0, for programs in other languages

# The package firn for Python, over the stable ABI: one object in C, which may do what ISO C forbids, turn functions into void *.
PYTHON ?= python3
PYTHON_PACKAGE := $(BUILD)/python/firn
PYTHON_OBJECT := $(call object,compiler/bindings/python/_firn.c)
$(PYTHON_OBJECT): private CFLAGS += -fPIC -fvisibility=hidden -Wno-pedantic \
    -isystem $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')
# What it reads of a plan and the libraries do not export is its own copy.
$(PYTHON_PACKAGE)/_firn.abi3.so: $(PYTHON_OBJECT) $(call object,plan/keys/ignored_label.c) $(LIBFIRN_SHARED) $(LIBFIRNC_SHARED) $(LIBFIRN) $(wildcard compiler/bindings/python/firn/*)
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)cp $(filter-out %.o %.a,$^) $(@D)
	$(quiet)$(CC) $(LDFLAGS) -shared $(filter %.o,$^) -L$(@D) -l:libfirn.so.0 -l:libfirnc.so.0 $(LIBFIRN) -Wl,--exclude-libs,ALL '-Wl,-rpath,$$ORIGIN' -o $@

.PHONY: python
python: $(PYTHON_PACKAGE)/_firn.abi3.so ## the Python package, in build/python (compiler/bindings/python/README.md)

.PHONY: all build
all: $(BUILD)/firnc $(BUILD)/firn ## build build/firnc and build/firn (the default)
	$(end_of_line)
build: all ## the same

.PHONY: build-times
build-times: ## how long each file takes to compile, in seconds of CPU, and the whole of `make all` with JOBS=
	@tests/build-times $(BUILD)/times $(JOBS) '$(MAKE)' $(CC)

$(BUILD)/generate: $(call object,$(wildcard plan/generate/*.c) plan/checks/trail.c) $(BUILD)/signature.o
	$(call say,$@)
	$(quiet)$(CC) $(LDFLAGS) $^ -o $@ -lm

# --- tests ---------------------------------------------------------------------------------------------------------

# One tests kernels that only sets with vectors have.
TEST_PROGRAMS := $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(filter-out $(if $(SETS),,tests/unit/test_kernels_chunked.c),$(UNIT_TESTS)))

# An archive, so that a test is linked only with what it calls: the kernel sets alone are 3 MB.
SUPPORT := $(BUILD)/tests/support.a
$(SUPPORT): $(call object,$(UNIT_SUPPORT))

$(BUILD)/tests/%: $(BUILD)/objects/tests/unit/%.o $(SUPPORT) $(COMMANDS) $(LIBFIRNC) $(LIBFIRNHOST) $(LIBSIGNING) $(LIBFIRN)
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)$(CC) $(LDFLAGS) -pthread $^ -o $@ -lcmocka -lyaml -lprotobuf-c $(HOST_LIBRARIES) -lm

# tests/unit/support_sealed_runs.c skips the signature check of most plans.
$(BUILD)/tests/test_hostile_plans $(BUILD)/tests/test_slots: private LDFLAGS += -Wl,--wrap=firn_signature_check

# It lets the self-test fail.
$(BUILD)/tests/test_self_test: private LDFLAGS += -Wl,--wrap=firn_self_test

# It lets a check of the compiler fail.
$(BUILD)/tests/test_rules_before_signing: private LDFLAGS += -Wl,--wrap=firn_check
# tests/unit/test_replace.c counts the system calls of a replacement, and lets each of them fail.
$(BUILD)/tests/test_replace: private LDFLAGS += $(foreach call,open64 open pwrite64 pwrite fsync close rename fallocate64,-Wl,--wrap=$(call))

# These tests compile sources that are in no library or are not exported by a kernel set.
$(BUILD)/tests/test_parallel: $(call object,runtime/kernels/vector/pieces.c)
SCALAR_PRODUCT := $(patsubst %,$(BUILD)/scalar/runtime/%.o,kernels/product kernels/reduce/product_flushed numerics/flushed)
SCALAR_NAMES := $(foreach name,firn_product_tile firn_product_tile_from firn_product_tiles firn_product_rows firn_product_is_direct \
    firn_product_flushed firn_product_tile_flushed firn_flushed_multiply_add firn_flushed_multiply_add_lanes \
    firn_flushed_close firn_flushed_factors,\
    -D$(name)=$(name)_scalar)
# As on a core that has no fused multiply-add.
$(BUILD)/scalar/runtime/numerics/flushed.o: private WITHOUT_FMA := $(addprefix -U__,FP_FAST_FMAF ARM_FEATURE_FMA SSE__)
$(BUILD)/tests/test_product: $(SCALAR_PRODUCT)
$(BUILD)/tests/test_product: private LDFLAGS += -Wl,--undefined=firn_fma_exact
$(BUILD)/tests/test_flushed: $(BUILD)/scalar/runtime/numerics/flushed.o
$(SCALAR_PRODUCT): $(BUILD)/scalar/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(quiet)$(CCACHE) $(CC) $(CFLAGS) $(CFLAGS_EXTRA) -O3 -DFIRN_VECTORS=0 $(SCALAR_NAMES) $(WITHOUT_FMA) -c $< -o $@
$(BUILD)/tests/test_emulated_text: $(call object,runtime/targets/emulated/text.c)
ifneq ($(filter avx512,$(SETS)),)
# Without AVX-512-FP16 this compiles the plain C version of its kernels.
$(BUILD)/tests/test_kernels_chunked: $(patsubst %,$(BUILD)/avx512/runtime/kernels/vector/%.o,chunked/chunked \
    chunked/native chunked/half_pack chunked/cut pieces)
# The same source as in two sets, under two names.
$(BUILD)/tests/test_kernels_chunked: $(BUILD)/avx2/chunked-renamed.o
$(BUILD)/avx2/chunked-renamed.o: $(BUILD)/avx2/runtime/kernels/vector/chunked/chunked.o
	$(quiet)$(OBJCOPY) --redefine-sym firn_chunked_tile_add=firn_chunked_tile_add_avx2 \
	    --redefine-sym firn_chunked_largest=firn_chunked_largest_avx2 $< $@
NATIVE_NAMES := $(patsubst %,firn_native_%,linear linear_backward_input linear_backward_weight add_weight scratch)
$(BUILD)/tests/test_kernels_chunked: $(BUILD)/avx2/native-renamed.o
$(BUILD)/avx2/native-renamed.o: $(patsubst %,$(BUILD)/avx2/runtime/kernels/vector/%.o,chunked/native chunked/half_pack \
    chunked/cut pieces)
	$(quiet)$(CC) $(MACHINE) $(PARTIAL_LINK) $^ -o $@
	$(quiet)$(OBJCOPY) $(patsubst %,--keep-global-symbol=%,$(NATIVE_NAMES)) $@
	$(quiet)$(OBJCOPY) $(foreach name,$(NATIVE_NAMES),--redefine-sym $(name)=$(name)_avx2) $@
endif
ifneq ($(filter neon,$(SETS)),)
# As above: compiled for neon, native.c is the plain C version.
$(BUILD)/tests/test_kernels_chunked: $(patsubst %,$(BUILD)/neon/runtime/kernels/vector/%.o,chunked/chunked \
    chunked/native chunked/half_pack chunked/cut pieces)
endif

ifneq ($(filter avx2,$(SETS)),)
$(patsubst %,$(BUILD)/tests/test_kernels_%,engine attention_sets sets sets_images): $(patsubst %,$(BUILD)/kernels-%.o,$(ENGINE_MODELS))
$(BUILD)/tests/test_kernels_attention_sets: $(BUILD)/kernels-avx512fp16_model.o
endif

# One function of each set that compiles it itself, under a name of its own.
NORMALISING := $(filter-out fma $(WITH_BASE) $(LEAVE_OUT),$(SETS))
$(BUILD)/tests/test_kernels_normalise: $(patsubst %,$(BUILD)/%/normalise-renamed.o,$(NORMALISING))
$(patsubst %,$(BUILD)/%/normalise-renamed.o,$(NORMALISING)): $(BUILD)/%/normalise-renamed.o: \
    $(BUILD)/%/runtime/kernels/vector/attention/scores.o $(BUILD)/%/runtime/kernels/vector/pack.o
	$(quiet)$(CC) $(MACHINE) $(PARTIAL_LINK) $^ -o $@
	$(quiet)$(OBJCOPY) --keep-global-symbol=firn_scores_normalise $@
	$(quiet)$(OBJCOPY) --redefine-sym firn_scores_normalise=firn_scores_normalise_$* $@

# Runs ONNX models for the scripts of tests/onnx.
$(BUILD)/tests/onnx_run: $(call object,tests/onnx/run.c) $(LIBFIRNC) $(LIBFIRN)
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)$(CC) $(LDFLAGS) $^ -o $@ -lyaml -lcjson -lprotobuf-c -lz -lm

.PHONY: unit-tests
unit-tests: $(TEST_PROGRAMS) $(BUILD)/tests/onnx_run

SANITIZED := $(BUILD)/sanitized
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1 -gz -O1 -fno-pie
# Most tests under the sanitizers need the portable kernels only. What this CPU cannot run, no test runs.
SANITIZED_SETS ?=
SANITIZED_BUILD = BUILD=$(SANITIZED) CFLAGS_EXTRA='$(SANITIZE)' LDFLAGS_EXTRA='-no-pie -gz' WERROR= LEAVE_OUT='$(if $(SANITIZED_SETS),$(LACKED),$(SETS))'
# What is asked for reaches the shell as variables, not as text that it reads.
export T ONLY
TESTS = BUILD=$(BUILD) SANITIZED=$(SANITIZED) MAKE='$(MAKE)' JOBS=$(JOBS) tests/check

.PHONY: check sanitized-goals
check: ## build and run single tests and what they need: T='test_shapes cli_train'; without T what the changes can break
	@set -f; $(TESTS) $${T:---changed}

sanitized-goals:
	@$(MAKE) --no-print-directory -s $(SANITIZED_BUILD) $(GOALS)

.PHONY: test test-all test-slice
test: ## every promise of the README, economically; ONLY='word ...' selects by name
	@set -f; $(TESTS) --loop test $$ONLY

test-all: ## every case of every test, also under ASan and UBSan, an hour on two cores, then test-long; ONLY='word ...'
	@set -f; $(TESTS) --loop all $$ONLY
	@$(if $(value ONLY),,$(MAKE) --no-print-directory -s test-long)

SLICES := 8
test-slice: ## slice N of 8 of test-all, and part N of test-long: N=3
	@case '$(subst ','\'',$(N))' in '' | *[!0-9]* | 0?*) \
	    echo 'make test-slice: N is the number of a landing, as in make test-slice N=3' >&2; exit 2 ;; esac
	@$(TESTS) --slice $$(($(N) % $(SLICES)))/$(SLICES)
	@$(TESTS) --long $(N)

# The tests of the rows long/ in tests/budget have an exhaustive form: every float instead of every 997th, every step of each
# schedule, every format on every target.
.PHONY: test-long
test-long: ## the exhaustive forms of the tests that have one; some hours on two cores
	@TEST_SECONDS=14400 $(TESTS) --long all
	@python3 tests/golden/schedules.py check $(BUILD)/firnc compiler/recipes/small_mlp.yaml 200000
	@python3 tests/golden/signatures.py check
	@$(MAKE) --no-print-directory -s emulate-x86

MUTANTS ?= 200000
.PHONY: fuzz-plans
fuzz-plans: ## run hostile but signed plans under ASan and UBSan; MUTANTS=200000 FUZZ_SEED=
	@.packages/install test
	@$(MAKE) --no-print-directory -s -j$(JOBS) $(SANITIZED_BUILD) $(SANITIZED)/tests/test_hostile_plans
	$(SANITIZED)/tests/test_hostile_plans $(MUTANTS) $(FUZZ_SEED)

include tests/fuzz/fuzz.mk
include tests/mutants/mutants.mk
include tests/emulated_x86/emulated_x86.mk
include tests/bare/bare.mk

# --- benchmarks ----------------------------------------------------------------------------------------------------

BENCH_SOURCES := $(wildcard tests/bench/*.c)
# The loops that serve as reference for the others must be as fast as possible.
$(call object,$(BENCH_SOURCES)): private CFLAGS += -O3

# tests/bench/ops.c defines a wrapper of the library's firn_kernel_set_choose.
$(BUILD)/firn-bench: $(call object,$(BENCH_SOURCES)) $(LIBFIRNHOST) $(LIBFIRN)
	$(call say,$@)
	$(quiet)$(CC) $(LDFLAGS) -Wl,--wrap=firn_kernel_set_choose -pthread $^ -o $@ -lcjson -lz -lm

.PHONY: bench
bench: ## time kernels and steps against this machine's peak and PyTorch, in under 20 minutes; ARGS='--only square --repeat 9'
	@.packages/install bench
	@$(MAKE) --no-print-directory -s -j$(JOBS) $(BUILD)/firnc $(BUILD)/firn-bench
	$(BUILD)/firn-bench --firnc $(BUILD)/firnc --out $(BUILD)/bench $(ARGS)

DEMO = BUILD=$(BUILD) FIRNC=$(BUILD)/firnc FIRN=$(BUILD)/firn OUT=$(BUILD)/demo DATA='$(DATA)' compiler/recipes/demo.sh

.PHONY: demo
demo: ## freeze, sign, train and evaluate a small GPT-2, here and on two emulated boards; DATA=file
	@.packages/install demo
	@$(MAKE) --no-print-directory -s -j$(JOBS) all firmware
	@$(DEMO)

.PHONY: demo-host
demo-host: ## the same on this machine alone, without cross compilers and emulators
	@.packages/install demo-host
	@$(MAKE) --no-print-directory -s -j$(JOBS) all
	@BOARDS= $(DEMO)

# --- installing ----------------------------------------------------------------------------------------------------

PREFIX ?= /usr/local
DESTDIR ?=
INSTALLED_HEADERS = $(call with_included,$(LIBFIRN_HEADERS) $(LIBFIRNC_HEADERS))

ifneq ($(filter install uninstall,$(MAKECMDGOALS)),)
ifneq ($(PREFIX) $(words $(PREFIX)),$(filter /%,$(PREFIX)) 1)
$(error PREFIX=$(PREFIX): give an absolute path without spaces)
endif
endif
install uninstall: export PREFIX := $(PREFIX)
install uninstall: export DESTDIR := $(DESTDIR)

.PHONY: install uninstall
install: all shared ## programs, libraries, headers, manual pages, completion of shells; PREFIX=/usr/local DESTDIR=
	@BUILD=$(BUILD) runtime/package/install $(INSTALLED_HEADERS)

uninstall: ## remove exactly what install put there; PREFIX= and DESTDIR= as then
	@runtime/package/uninstall

# --- checks of the text --------------------------------------------------------------------------------------------

LINTED := $(filter-out plan/generated/%,$(shell git ls-files '*.c' '*.h' 2>/dev/null))
# semihosting.c and runner_board.c do not compile for this machine; both cross compilers compile them with all warnings. _firn.c
# needs the headers of Python. Sources for x86 compile only there, and those that include Open MPI's headers only where it is
# installed; only `tidy` asks for that.
TIDIED := $(filter-out $(ON_BOARDS) %/python/_firn.c $(if $(filter x86_64 i%86,$(PROCESSOR)),,runtime/targets/x86/%)\
    $(if $(filter tidy,$(MAKECMDGOALS)),$(if $(MPI_FLAGS),,runtime/mpi/transport.c)),\
    $(filter compiler/%.c plan/%.c schedules/%.c runtime/%.c,$(LINTED)))
# As which sets the vector kernels are checked: the flags of the widest, and of one with which they compile to other code.
TIDY_WIDEST := $(if $(filter aarch64,$(PROCESSOR)),neonfp16,avx512)
TIDY_OTHER := $(if $(filter aarch64,$(PROCESSOR)),neon,avx2)

.PHONY: lint
lint: ## clang-format, clang-tidy, cppcheck, and both compilers with all warnings as errors
	@.packages/install lint
	@$(if $(LINTED),:,$(error lint looks at the files that git knows, and git lists none))
	@.ci/check-landing
	@tests/run.sh --list --loop all > /dev/null
	clang-format --dry-run -Werror $(LINTED)
	@$(MAKE) --no-print-directory -s -j$(JOBS) CC=gcc BUILD=$(BUILD)/gcc all unit-tests $(BUILD)/gcc/firn-bench
	@$(MAKE) --no-print-directory -s -j$(JOBS) CC=clang BUILD=$(BUILD)/clang all unit-tests $(BUILD)/clang/firn-bench
	@$(MAKE) --no-print-directory -s -j$(JOBS) tidy cppcheck

# $(1) are the flags. The line that counts suppressed findings is not shown. The compiler writes which headers the file includes.
clang_tidy = clang-tidy --quiet --warnings-as-errors='*' $< -- -std=c11 $(FLOATING) -I. $(1) 2> $@.log || \
    { cat $@.log >&2; exit 1; }; $(CC) -std=c11 -I. $(1) -MM -MP -MT $@ -MF $@.d $<

.PHONY: tidy cppcheck
# A file is checked again if it or a header that it includes has changed.
tidy: $(BUILD)/onnx/onnx.pb-c.c $(patsubst %,$(BUILD)/tidy/%.ok,$(TIDIED)) $(patsubst %,$(BUILD)/tidy-$(TIDY_OTHER)/%.ok,$(filter $(VECTOR_SOURCES),$(TIDIED)))
$(BUILD)/tidy/%.ok: % .clang-tidy | $(MBEDTLS_READY) $(BUILD)/onnx/onnx.pb-c.c
	@mkdir -p $(@D)
	$(call say,clang-tidy $<)
	$(quiet)$(call clang_tidy,$(if $(filter plan/signature.c $(SHA256_X86),$<),$(MBEDTLS_FLAGS),$(SIGNING_FLAGS)) \
	    $(if $(filter $(VECTOR_SOURCES) $(NATIVE_SOURCES) $(ENGINE_SOURCES) $(AMX_SOURCES) $(PAIRS_SOURCES),$<),$($(TIDY_WIDEST)_FLAGS)) $(if $(filter $(ONNX_SOURCES),$<),$(ONNX_FLAGS)) $(if $(filter runtime/mpi/transport.c,$<),$(MPI_FLAGS)))
	@touch $@
$(BUILD)/tidy-$(TIDY_OTHER)/%.ok: % .clang-tidy
	@mkdir -p $(@D)
	$(call say,clang-tidy $< for $(TIDY_OTHER))
	$(quiet)$(call clang_tidy,$($(TIDY_OTHER)_FLAGS))
	@touch $@

cppcheck:
	cppcheck --quiet --std=c11 --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
	    --suppressions-list=.cppcheck -I. $(filter %.c,$(LINTED))

# --- microcontrollers ----------------------------------------------------------------------------------------------

include runtime/targets/firmware.mk
include tests/glitch/glitch.mk
include runtime/targets/aarch64/aarch64.mk
include runtime/targets/library.mk

# --- the rest ------------------------------------------------------------------------------------------------------

.PHONY: generate
generate: $(BUILD)/generate ## make plan/generated again from plan/plan.fbs
	flatc --binary --schema --bfbs-builtins --bfbs-comments -o $(BUILD) plan/plan.fbs
	$(BUILD)/generate $(BUILD)/plan.bfbs plan/generated

.PHONY: clean
clean: ## remove what was built; fetched sources stay in .cache
	rm -rf $(BUILD)

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "    make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo 'with each of them:'
	@echo '    PORTABLE=1       the portable kernels alone, which compile in a minute and give the same bits more slowly'
	@echo '    BUILD=folder     where it is built, one folder for each set of options; default: build'
	@echo '    CC=clang         the compiler; JOBS=2 how many processes'

# Intermediate files that make must not delete.
.PRECIOUS: $(BUILD)/objects/%.o $(patsubst %,$(BUILD)/%/%.o,$(X86_SETS) $(AARCH64_SETS) $(MODELS)) $(BUILD)/mbedtls/%.o $(BUILD)/signing/%.o $(BUILD)/keys/%.c

# Not those of the builds of their own within this one, which are some thousands, and those of clang-tidy only for it.
OWN_BUILDS := check times cover variants sanitized aarch64 mutants coverage gcc clang fuzz64 fuzz32
UNREAD_BUILDS := $(OWN_BUILDS) $(if $(filter tidy,$(MAKECMDGOALS)),,tidy tidy-$(TIDY_OTHER))
-include $(shell find $(BUILD) -mindepth 1 $(patsubst %,-path $(BUILD)/% -prune -o,$(UNREAD_BUILDS)) -name '*.d' -print 2>/dev/null)
