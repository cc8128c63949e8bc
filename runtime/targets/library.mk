# The library of a core, for a firmware that has a build of its own, and what it takes of the flash. It is optimised for
# size, and a firmware is linked with what its parts name (firnc export PLAN --c). The targets are in targets.mk.

# In a sealed build the signature vouches for the semantic rules (plan/THREAT_MODEL.md): another file takes their place.
SEMANTIC_RULES := $(patsubst %,plan/checks/%.c,semantics semantics_ops semantics_flow semantics_fields)
SEALED_RULES := plan/checks/sealed/semantics.c
LIBRARY_SHARED := $(filter-out $(SEMANTIC_RULES),$(PLAN_SOURCES)) $(SCHEDULES_SOURCES) \
    $(CORE_SOURCES) $(NUMERICS_SOURCES) $(KERNELS_SOURCES) runtime/kernels/set.c
LIBRARY_full := $(LIBRARY_SHARED) $(SEMANTIC_RULES)
LIBRARY_sealed := $(LIBRARY_SHARED) $(SEALED_RULES)
LIBRARY_FLAGS := -ffunction-sections -fdata-sections -fno-common
# Values that a loop keeps in registers take instructions before it and spills around it, as do values kept across a call;
# reordered instructions need more registers, and conditional ones wider encodings.
LIBRARY_SHORT := -fno-tree-loop-im -fno-move-loop-invariants -fno-caller-saves -fno-schedule-insns2 -fno-if-conversion
# In a fast form, what a step spends its time in is optimised for speed: the kernels, the numerics, the conversion of
# samples and the decoding of ops. Not sum.c: of 1 KB more, a step of a GPT-2 would gain a fiftieth, an MLP's next to nothing.
# The Zephyr module has the same list (runtime/package/sources.cmake).
LIBRARY_QUICK := $(KERNELS_SOURCES) $(filter-out %/sum.c,$(NUMERICS_SOURCES)) \
    $(patsubst %,runtime/%.c,sample execute instance bind)
LIBRARY_QUICK_FLAGS := -O2
LIBRARY_LDFLAGS := -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings
# A form with -lto is optimised as one program when it is linked; its objects are those of the compiler alone. They keep the
# level that they were compiled with.
LIBRARY_VARIANTS := full sealed full-lto sealed-lto full-fast sealed-fast full-fast-lto sealed-fast-lto
# What it is linked with. auto: plain -flto warns that it does the parts of its work one after the other.
library_lto = $(if $(filter %-lto,$(1)),-flto=auto)
library_folder = $(BUILD)/$(1)/library$(if $(filter %-lto,$(2)),/lto)

# The sources of variant $(1); those of the sources $(1) that variant $(2) optimises for speed.
library_sources = $(LIBRARY_$(firstword $(subst -, ,$(1))))
library_quick = $(if $(findstring -fast,$(2)),$(filter $(LIBRARY_QUICK),$(1)))

# Of target $(1): the objects of sources $(2) in variant $(3), which is empty for what every variant is linked with; the
# start code and, where there is one, the C library of our own; the compiler with the options that all objects have, for C
# library $(2); for that of the target; the same with the options that only some objects have, for `flags`.
library_objects = $(patsubst %.c,$(call library_folder,$(1),$(3))/%.o,$(filter-out $(call library_quick,$(2),$(3)),$(2))) \
    $(patsubst %.c,$(call library_folder,$(1),$(3))/fast/%.o,$(call library_quick,$(2),$(3)))
library_start = $(or $($(1)_START),runtime/targets/$(1))/start.c
library_board = $(call library_start,$(1)) $($(1)_LIBC_SOURCE)
library_compiler_with = $($(1)_CROSS)gcc $($(1)_MACHINE) -std=c11 -Os $(FLOATING) $(2) $(LIBRARY_FLAGS)
library_compiler = $(call library_compiler_with,$(1),$($(1)_LIBC))
library_flags = $(call library_compiler,$(1)) $(LIBRARY_SHORT) $(LIBRARY_QUICK_FLAGS)

# $(1) is the target, $(2) a variant. An archive that refers to its members, so that a map of the linker has their paths.
# The example, for the plan of the size table: of the whole it prints what `make size` reads. The runner for the emulator,
# with everything of the library; the public key is linked in.
define LIBRARY_VARIANT
$(BUILD)/$(1)/library/$(2).a: $(call library_objects,$(1),$(call library_sources,$(2)),$(2)) $(BUILD)/$(1)/library/signature.o
	$$(call say,$$@)
	@rm -f $$@
	$$(quiet)$($(1)_CROSS)gcc-ar rcsT $$@ $$^

$(BUILD)/$(1)/library/size-$(2).elf: $(call library_objects,$(1),$(call library_board,$(1))) \
		$(call library_objects,$(1),runtime/targets/firmware_main.c parts/size.c,$(2)) $(BUILD)/$(1)/library/$(2).a
	$$(call say,$$@)
	$$(quiet)$$(call library_compiler,$(1)) $(call library_lto,$(2)) $(LIBRARY_LDFLAGS) -T $($(1)_SCRIPT) -Wl,-Map=$$@.map \
	    $$^ -o $$@

$(BUILD)/$(1)/library/emulator-$(2)-%.elf: $(BUILD)/keys/%.c $(call firmware_objects,$(1),$($(1)_START)/start.c \
		$(FIRMWARE_MEMORY) $($(1)_LIBC_SOURCE) $(EMULATED)) $(BUILD)/$(1)/library/$(2).a $$($(1)_SCRIPTS)
	$$(call say,$$@)
	$$(quiet)$$(call library_compiler,$(1)) $(call library_lto,$(2)) $(LIBRARY_LDFLAGS) -T $($(1)_SCRIPT) -Wl,-Map=$$@.map -I. \
	    $$(filter %.c %.o %.a,$$^) -o $$@.part
	@mv $$@.part $$@
endef

define LIBRARY_RULES
$(BUILD)/$(1)/library/%.o: %.c $(BUILD)/$(1)/library/flags
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$$(call library_compiler,$(1)) $(LIBRARY_SHORT) -fcallgraph-info=su $(WARNINGS) -I. -MMD -MP $$(LIBRARY_OWN_FLAGS) -c $$< -o $$@

$(BUILD)/$(1)/library/lto/%.o: %.c $(BUILD)/$(1)/library/flags
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$$(call library_compiler,$(1)) $(LIBRARY_SHORT) -flto $(WARNINGS) -I. -MMD -MP -c $$< -o $$@

$(BUILD)/$(1)/library/fast/%.o: %.c $(BUILD)/$(1)/library/flags
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$$(call library_compiler,$(1)) $(LIBRARY_QUICK_FLAGS) $(WARNINGS) -I. -MMD -MP -c $$< -o $$@

$(BUILD)/$(1)/library/lto/fast/%.o: %.c $(BUILD)/$(1)/library/flags
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$$(call library_compiler,$(1)) $(LIBRARY_QUICK_FLAGS) -flto $(WARNINGS) -I. -MMD -MP -c $$< -o $$@

$(BUILD)/$(1)/library/flags: FORCE
	@mkdir -p $$(@D)
	@echo '$(call library_flags,$(1))' | cmp -s - $$@ || echo '$(call library_flags,$(1))' > $$@

$(call library_objects,$(1),$(call library_start,$(1))): private LIBRARY_OWN_FLAGS := $($(1)_START_FLAGS)
$(call library_objects,$(1),$($(1)_LIBC_SOURCE)): private LIBRARY_OWN_FLAGS := $(FIRMWARE_OF_LIBC)
$(call library_objects,$(1),plan/signature.c): private LIBRARY_OWN_FLAGS := $(MBEDTLS_FLAGS)
$(call library_objects,$(1),plan/signature.c): | $(MBEDTLS_READY)

$(BUILD)/$(1)/library/mbedtls/%.o: $(BUILD)/$(1)/library/flags plan/mbedtls_config.h $(MBEDTLS_READY)
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$$(call library_compiler,$(1)) -fcallgraph-info=su -w -MMD -MP -I. $(MBEDTLS_FLAGS) -DMBEDTLS_SHA256_SMALLER \
	    -c $(MBEDTLS_SOURCE)/$$*.c -o $$@

$(BUILD)/$(1)/library/signature.o: $(call library_objects,$(1),plan/signature.c) \
		$(patsubst %.c,$(BUILD)/$(1)/library/mbedtls/%.o,$(MBEDTLS_SOURCES))
	$$(call say,$$@)
	$$(quiet)$($(1)_CROSS)gcc $($(1)_MACHINE) $(PARTIAL_LINK) $$^ -o $$@
	$$(quiet)$($(1)_CROSS)objcopy --wildcard --keep-global-symbol='firn_*' $$@

# The parts that a set of plans needs. The name of the file is that of the set.
$(BUILD)/$(1)/library/parts/%.o: $(BUILD)/parts/%.c $(BUILD)/$(1)/library/flags
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$$(call library_compiler,$(1)) $(WARNINGS) -I. -MMD -MP -c $$< -o $$@

$(BUILD)/$(1)/library/lto/parts/%.o: $(BUILD)/parts/%.c $(BUILD)/$(1)/library/flags
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$$(call library_compiler,$(1)) $(LIBRARY_SHORT) -flto $(WARNINGS) -I. -MMD -MP -c $$< -o $$@

$(foreach variant,$(LIBRARY_VARIANTS),$(call LIBRARY_VARIANT,$(1),$(variant))
)
endef
$(foreach target,$(TARGETS),$(eval $(call LIBRARY_RULES,$(target))))

# --- what a firmware engineer takes home ---------------------------------------------------------------------------

FIRN_SEALED ?= 0
FIRN_FAST ?= 0
FIRN_LTO ?= 0
library_fast := $(if $(filter 1,$(FIRN_FAST)),-fast)
library_variant := $(if $(filter 1,$(FIRN_SEALED)),sealed,full)$(library_fast)$(if $(filter 1,$(FIRN_LTO)),-lto)
OUT ?= $(BUILD)/firmware-lib/$(TARGET)$(patsubst full%,%,$(library_variant:sealed%=-sealed%))
# The headers of the runtime, what the example includes and the file that firnc export writes, and what these include.
LIBRARY_HEADERS = $(sort $(filter %.h %.def,$(shell $(CC) -MM -I. $(FIRMWARE_HEADERS) runtime/parts.h plan/ops.h \
    runtime/targets/board.h runtime/targets/plan_file.h)))

FIRN_VERSION = $(shell runtime/package/version)

# The C library that the printed line names, for every core: the firmware has one, and the library needs five functions of it.
LIBRARY_USER_LIBC := --specs=picolibc.specs

.PHONY: firmware-lib
firmware-lib: ## libfirn.a and its headers for a core: TARGET=t [FIRN_SEALED=1] [FIRN_FAST=1] [FIRN_LTO=1] [OUT=folder]
	@test -n '$(filter $(TARGETS),$(TARGET))' || \
	    { echo 'firmware-lib: TARGET=$(TARGET) is none of $(TARGETS)' >&2; exit 2; }
	@$(foreach setting,FIRN_SEALED FIRN_FAST FIRN_LTO,$(if $(filter 0 1,$($(setting))),,\
	    echo 'firmware-lib: $(setting)=$($(setting)) is neither 0 nor 1' >&2; exit 2;)):
	@.packages/install targets
	@$(locked) $(MAKE) --no-print-directory -s -j$(JOBS) $(BUILD)/$(TARGET)/library/$(library_variant).a V=1 >&2
	@mkdir -p '$(OUT)/include'
	@rm -f '$(OUT)/libfirn.a'
	@$($(TARGET)_CROSS)gcc-ar rcs '$(OUT)/libfirn.a' $(BUILD)/$(TARGET)/library/signature.o \
	    $(call library_objects,$(TARGET),$(call library_sources,$(library_variant)),$(library_variant))
	@tar cf - $(LIBRARY_HEADERS) | tar xf - -C '$(OUT)/include'
	@sed 's|@TARGET@|$(TARGET)|; s|@OPTIONS@|$($(TARGET)_MACHINE)|' runtime/package/firmware.cmake.in > '$(OUT)/firnConfig.cmake'
	@sed 's|@VERSION@|$(FIRN_VERSION)|' runtime/package/firnConfigVersion.cmake.in > '$(OUT)/firnConfigVersion.cmake'
	@echo '$(OUT): libfirn.a ($(library_variant)) and include/ for $(TARGET). Link, with the parts that'
	@echo '`firnc export PLAN --c -o parts.c` writes; without them everything is linked:'
	@echo '    $(strip $(call library_compiler_with,$(TARGET),$(LIBRARY_USER_LIBC)) $(call library_lto,$(library_variant))) -Wl,--gc-sections -I$(OUT)/include main.c parts.c $(OUT)/libfirn.a'

# --- sizes ---------------------------------------------------------------------------------------------------------

# PLAN, or the plan of the table: an MLP that trains with SGD in float32.
$(BUILD)/parts/size.c: $(if $(PLAN),$(PLAN),$(BUILD)/parts/size.plan) $(BUILD)/firnc FORCE
	@mkdir -p $(@D)
	@$(BUILD)/firnc export '$<' --c | cmp -s - $@ || $(BUILD)/firnc export '$<' --c -o $@ >/dev/null

$(BUILD)/parts/%.plan: runtime/targets/%.yaml $(BUILD)/firnc
	@mkdir -p $(@D)
	@rm -f $(@D)/$*.key.*
	@$(BUILD)/firnc keygen $(@D)/$*.key > $(@D)/$*.log
	@$(BUILD)/firnc compile $< --mode train --key $(@D)/$*.key.key.pem -o $@ > $(@D)/$*.log

SIZED := $(foreach target,$(TARGETS),$(foreach variant,full sealed,\
    $(target)/library/size-$(variant)$(library_fast).elf $(target)/library/size-$(variant)$(library_fast)-lto.elf))

# $(1) is the form of the report: table or list.
size_report = $(foreach elf,$(SIZED),LC_ALL=C awk -v form=$(1) -v target=$(firstword $(subst /, ,$(elf))) \
    -v variant=$(patsubst size-%.elf,%,$(notdir $(elf))) -f runtime/targets/size.awk $(BUILD)/$(elf).map &&) :

# $(1) is the goal. A PLAN that is not there ends here, in one line.
plan_is_there = test -z '$(PLAN)' || test -f '$(PLAN)' || { echo '$(1): PLAN=$(PLAN): there is no such file' >&2; exit 2; }

.PHONY: size sizes
size: ## the flash that a training firmware takes, by part, on each core, full and sealed; PLAN=P FIRN_FAST=1
	@$(call plan_is_there,size)
	@.packages/install targets
	@$(locked) $(MAKE) --no-print-directory -s -j$(JOBS) all $(addprefix $(BUILD)/,$(SIZED)) V=1 >&2
	@$(call size_report,table)

# The same as a list, with the compilers: tests/golden/sizes is one.
sizes:
	@$(locked) $(MAKE) --no-print-directory -s -j$(JOBS) all $(addprefix $(BUILD)/,$(SIZED)) PLAN= V=1 >&2
	@for compiler in $(sort $(foreach target,$(TARGETS),$($(target)_CROSS)gcc)); do \
	    echo "compiler $$compiler $$($$compiler -dumpfullversion)"; done
	@$(call size_report,list)

# --- RAM -----------------------------------------------------------------------------------------------------------

# The stack is the deepest path through the functions that the plan's firmware is linked with.
define RAM_RULES
.PHONY: ram-$(1)
ram-$(1): $(BUILD)/$(1)/library/size-full.elf
	@$($(1)_CROSS)nm --defined-only $$< | sed -n 's|^[0-9a-f]* [tT] ||p' > $(BUILD)/$(1)/library/functions
	@find $(BUILD)/$(1)/library -name '*.ci' ! -path '*/runtime/targets/*' ! -path '*/sealed/*' -exec cat {} + | \
	    awk -v linked=$(BUILD)/$(1)/library/functions -v brief=1 -f runtime/targets/stack.awk > $(BUILD)/$(1)/stacks
	@$(BUILD)/firnc inspect '$(or $(PLAN),$(BUILD)/parts/size.plan)' --json > $(BUILD)/$(1)/inspected
	@LC_ALL=C runtime/targets/ram $(1) $(BUILD)/$(1)/inspected $$<.map $(BUILD)/$(1)/stacks
endef
$(foreach target,$(TARGETS),$(eval $(call RAM_RULES,$(target))))

.PHONY: ram
ram: ## the RAM that a plan takes on each core: state, arena, stack, globals; PLAN=P
	@$(call plan_is_there,ram)
	@.packages/install targets
	@$(locked) $(MAKE) --no-print-directory -s -j$(JOBS) all $(foreach target,$(TARGETS),$(BUILD)/$(target)/library/size-full.elf) V=1 >&2
	@$(MAKE) --no-print-directory $(patsubst %,ram-%,$(TARGETS))

# --- the runner for the emulator, linked with the parts of a set of plans ------------------------------------------

# PLANS are the plans, PARTS the name of their set, PUB the public key. Prints the program's path.
$(BUILD)/parts/$(PARTS).c: $(PLANS) $(BUILD)/firnc
	@mkdir -p $(@D)
	@$(BUILD)/firnc export $(firstword $(PLANS)) --c $(patsubst %,--with %,$(wordlist 2,64,$(PLANS))) -o $@ >/dev/null

PARTS_RUNNER := $(BUILD)/$(TARGET)/library/runner-$(PARTS)-$(library_variant).elf
$(PARTS_RUNNER): $(BUILD)/keys/$(KEY).c $(call library_objects,$(TARGET),$(call library_board,$(TARGET)) $(EMULATED)) \
		$(BUILD)/$(TARGET)/library/parts/$(PARTS).o $(BUILD)/$(TARGET)/library/$(library_variant).a
	@$(call library_compiler,$(TARGET)) $(LIBRARY_LDFLAGS) -I. -T $($(TARGET)_SCRIPT) $^ -o $@

.PHONY: parts-runner
parts-runner:
	@$(locked) $(MAKE) --no-print-directory -s -j$(JOBS) $(PARTS_RUNNER) V=1 >&2
	@echo $(PARTS_RUNNER)

# The sources of the library without the signature check, one a line: for FIRN_SEALED=0 or 1. Those that FIRN_FAST=1
# compiles for speed.
.PHONY: library-sources library-quick-sources
library-sources:
	@printf '%s\n' $(call library_sources,$(library_variant))
library-quick-sources:
	@printf '%s\n' $(LIBRARY_QUICK)

.PHONY: arduino-lib
arduino-lib: $(MBEDTLS_READY) ## the library for Arduino and PlatformIO: OUT=folder [FIRN_FAST=1]
	@test -n '$(filter command line environment,$(origin OUT))' || { echo 'arduino-lib: OUT is missing; add OUT=folder' >&2; exit 2; }
	@CC='$(CC)' QUICK='$(if $(library_fast),$(LIBRARY_QUICK))' runtime/package/arduino/make-library '$(OUT)' '$(MBEDTLS_SOURCE)' $(LIBRARY_full)
