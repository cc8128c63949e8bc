# Firmware for the microcontrollers of targets.mk: the same sources, compiled for each into $(BUILD)/<target>/.

include runtime/targets/targets.mk

# Scripts let make build the programs of boards, two scripts at a time, and two makes must not compile the same file.
locked = $(shell command -v flock >/dev/null && mkdir -p $(BUILD) && echo flock $(BUILD)/lock)

# Of the C library only string.h is used; start code and linker scripts are in runtime/targets.
FIRMWARE_FLAGS := -ffunction-sections -fdata-sections -fno-common
FIRMWARE_CFLAGS := -std=c11 $(FLOATING) $(WARNINGS) -I. -MMD -MP -fcallgraph-info=su $(FIRMWARE_FLAGS)
FIRMWARE_LDFLAGS := $(FIRMWARE_FLAGS) -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings

FIRMWARE_KERNELS := $(filter-out runtime/kernels/table.c,$(KERNELS_SOURCES))
# Linked only if the firmware calls it (firn_push).
FIRMWARE_OPTIONAL := runtime/ring.c
FIRMWARE_SOURCES := $(PLAN_SOURCES) $(SCHEDULES_SOURCES) $(filter-out $(FIRMWARE_OPTIONAL),$(CORE_SOURCES)) $(NUMERICS_SOURCES) \
    runtime/kernels/set.c
FIRMWARE_MEMORY := runtime/targets/memory/memory.c
# For functions whose loops the compiler would otherwise replace by calls of the same functions.
FIRMWARE_OF_LIBC := -ffreestanding -fno-tree-loop-distribute-patterns
EMULATED := $(TARGETS_COMMON) $(filter-out %/posix.c,$(wildcard runtime/targets/emulated/*.c))

$(BUILD)/example/%.plan: compiler/recipes/%.yaml $(BUILD)/firnc
	@mkdir -p $(@D)
	@rm -f $(@D)/key.*
	@$(BUILD)/firnc keygen $(@D)/key > $(@D)/log
	@$(BUILD)/firnc compile $< --mode train --key $(@D)/key.key.pem -o $@ > $(@D)/log

# $(1) is the target. Objects of $(1), by source.
firmware_objects = $(patsubst %.c,$(BUILD)/$(1)/objects/%.o,$(2))

define FIRMWARE_RULES
$(BUILD)/$(1)/objects/%.o: %.c $(BUILD)/$(1)/flags
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$($(1)_CROSS)gcc $($(1)_MACHINE) $($(1)_LIBC) $(FIRMWARE_CFLAGS) $$(OPTIMIZE) $$(OWN_FLAGS) -c $$< -o $$@

$(BUILD)/$(1)/flags: FORCE
	@mkdir -p $$(@D)
	@echo '$($(1)_MACHINE) $($(1)_LIBC) $(FIRMWARE_CFLAGS)' | cmp -s - $$@ || echo '$($(1)_MACHINE) $($(1)_LIBC) $(FIRMWARE_CFLAGS)' > $$@

# Optimised for size, except for the numerics, the kernels, the conversion of samples and the decoding of ops, in which a
# step spends its time.
$(call firmware_objects,$(1),$(FIRMWARE_SOURCES) $(FIRMWARE_OPTIONAL) $(KERNELS_SOURCES) $(EMULATED) plan/signature.c): private OPTIMIZE := -Os
$(call firmware_objects,$(1),$(NUMERICS_SOURCES) $(FIRMWARE_KERNELS) $(patsubst %,runtime/%.c,sample execute instance bind)): private OPTIMIZE := -O2
$(call firmware_objects,$(1),runtime/targets/firmware_main.c $($(1)_START)/start.c): private OPTIMIZE := -Os
$(call firmware_objects,$(1),$($(1)_START)/start.c): private OWN_FLAGS := $($(1)_START_FLAGS)
$(call firmware_objects,$(1),$(FIRMWARE_MEMORY) $($(1)_LIBC_SOURCE)): private OPTIMIZE := -O2 $(FIRMWARE_OF_LIBC)
$(call firmware_objects,$(1),plan/signature.c): private OWN_FLAGS := $(MBEDTLS_FLAGS)
$(call firmware_objects,$(1),plan/signature.c): | $(MBEDTLS_READY)

$(BUILD)/$(1)/mbedtls/%.o: $(BUILD)/$(1)/flags plan/mbedtls_config.h $(MBEDTLS_READY)
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$($(1)_CROSS)gcc $($(1)_MACHINE) -std=c11 -Os -w -MMD -MP -fcallgraph-info=su -I. $($(1)_LIBC) $(FIRMWARE_FLAGS) \
	    $(MBEDTLS_FLAGS) -DMBEDTLS_SHA256_SMALLER -c $(MBEDTLS_SOURCE)/$$*.c -o $$@

$(BUILD)/$(1)/signature.o: $(call firmware_objects,$(1),plan/signature.c) \
		$(patsubst %.c,$(BUILD)/$(1)/mbedtls/%.o,$(MBEDTLS_SOURCES))
	$$(call say,$$@)
	$$(quiet)$($(1)_CROSS)gcc $($(1)_MACHINE) $(PARTIAL_LINK) $$^ -o $$@
	$$(quiet)$($(1)_CROSS)objcopy --wildcard --keep-global-symbol='firn_*' $$@

$(BUILD)/$(1)/kernels.a: $(call firmware_objects,$(1),$(FIRMWARE_KERNELS) $(FIRMWARE_OPTIONAL))
	$$(call say,$$@)
	@rm -f $$@
	$$(quiet)$($(1)_CROSS)ar rcs $$@ $$^

$(1)_OBJECTS := $(call firmware_objects,$(1),$($(1)_START)/start.c $(FIRMWARE_MEMORY) $($(1)_LIBC_SOURCE) $(FIRMWARE_SOURCES)) $(BUILD)/$(1)/signature.o
$(1)_LINK = $($(1)_CROSS)gcc $($(1)_MACHINE) $($(1)_LIBC) $(FIRMWARE_LDFLAGS) -T $($(1)_SCRIPT) -Wl,-Map=$$@.map
$(1)_SCRIPTS := $(sort $($(1)_SCRIPT) $(wildcard $($(1)_START)/sections.ld))

# The example, with all kernels.
$(BUILD)/$(1)/example.elf: $$($(1)_OBJECTS) $(call firmware_objects,$(1),runtime/targets/firmware_main.c \
		runtime/kernels/table.c) $(BUILD)/$(1)/kernels.a $$($(1)_SCRIPTS)
	$$(call say,$$@)
	$$(quiet)$$($(1)_LINK) $$(filter %.o %.a,$$^) -o $$@

# The runner for the emulator; the public key is linked in.
$(BUILD)/$(1)/emulator-%.elf: $(BUILD)/keys/%.c $$($(1)_OBJECTS) $(call firmware_objects,$(1),$(EMULATED) \
		runtime/kernels/table.c) $(BUILD)/$(1)/kernels.a $$($(1)_SCRIPTS)
	$$(call say,$$@)
	$$(quiet)$$($(1)_LINK) -std=c11 $$(filter %.c %.o %.a,$$^) -o $$@.part
	@mv $$@.part $$@

.PHONY: firmware-$(1)
firmware-$(1): $(BUILD)/$(1)/example.elf $$($(1)_OBJECTS) $(call firmware_objects,$(1),$(EMULATED))
endef

$(foreach target,$(TARGETS),$(eval $(call FIRMWARE_RULES,$(target))))

.PHONY: firmware
firmware: $(patsubst %,firmware-%,$(TARGETS))

# --- what firmware must hold to ------------------------------------------------------------------------------------

# Of the objects that are linked: a build folder may hold others, of sources that have been moved. awk fails if one is missing.
call_graphs = $(patsubst %.o,%.ci,$(call firmware_objects,$(1),$(filter-out runtime/targets/%,$(FIRMWARE_SOURCES) \
    $(FIRMWARE_KERNELS) $(FIRMWARE_OPTIONAL) $(FIRMWARE_MEMORY) runtime/kernels/table.c plan/signature.c)) \
    $(patsubst %.c,$(BUILD)/$(1)/mbedtls/%.o,$(MBEDTLS_SOURCES)))

define CHECK_RULES
.PHONY: check-$(1)
check-$(1): runtime/targets/stack.awk
	@$$(locked) $$(MAKE) --no-print-directory -s -j$$(JOBS) $(BUILD)/$(1)/example.elf
	@runtime/targets/check-symbols $($(1)_CROSS)nm $(BUILD)/$(1)/example.elf $$($(1)_OBJECTS) $(BUILD)/$(1)/kernels.a
	@echo '$(1): no allocator, no printf, no double outside schedules; stack of each function, the platform apart:'
	@awk -f runtime/targets/stack.awk $(call call_graphs,$(1))
endef
$(foreach target,$(TARGETS),$(eval $(call CHECK_RULES,$(target))))

.PHONY: targets
targets: ## build the firmware example for each microcontroller, check it, print its stack
	@.packages/install targets
	@$(MAKE) --no-print-directory -j$(JOBS) firmware
	@$(MAKE) --no-print-directory $(patsubst %,check-%,$(TARGETS))

# --- running a plan ------------------------------------------------------------------------------------------------

# The public key PUB, in a file named after its hash, so that runs with different keys do not share a file.
ifdef PUB
KEY := $(shell sha256sum < '$(PUB)' 2>/dev/null | cut -c 1-16)
endif

$(BUILD)/keys/%.c: runtime/targets/emulated/public-key
	@mkdir -p $(@D)
	@runtime/targets/emulated/public-key --c '$(PUB)' > $@.part && mv $@.part $@

# The same runner for this machine and for variants of its compiler, without semihosting.
$(BUILD)/runner: $(call object,$(TARGETS_COMMON) $(filter-out $(ON_BOARDS),$(wildcard runtime/targets/emulated/*.c))) \
		$(LIBFIRN)
	$(call say,$@)
	$(quiet)$(CC) $(LDFLAGS) $^ -o $@ -lm

# LIBRARY=full, sealed, full-lto, sealed-fast-lto, ...: with a form of the library of library.mk.
EMULATOR := $(if $(filter host,$(TARGET)),$(BUILD)/runner,$(BUILD)/$(TARGET)/$(if $(LIBRARY),library/emulator-$(LIBRARY),emulator)-$(KEY).elf)

.PHONY: emulate
emulate: ## run a plan on an emulated board: TARGET=T PLAN=P PUB=K DATA=F [LABELS=G] STEPS=N [CHECKPOINT=F or SLOTS=D] [STACK=1] [LIBRARY=full]
	@test -n '$(filter host $(TARGETS),$(TARGET))' || { echo 'emulate: TARGET is $(TARGETS) or host' >&2; exit 2; }
	@test -r '$(PUB)' || { echo 'emulate: PUB=$(PUB) cannot be read; it is the .pub.pem of firnc keygen' >&2; exit 2; }
	@$(locked) $(MAKE) --no-print-directory -s -j$(JOBS) $(EMULATOR) V=1 >&2
	@PLAN='$(PLAN)' PUB='$(PUB)' DATA='$(DATA)' LABELS='$(LABELS)' STEPS='$(STEPS)' CHECKPOINT='$(CHECKPOINT)' \
	    SLOTS='$(SLOTS)' RESUME='$(RESUME)' STACK='$(STACK)' PREPARED='$(PREPARED)' PREDICT='$(PREDICT)' GENERATE='$(GENERATE)' TRY='$(TRY)' \
	    runtime/targets/emulated/run $(TARGET) $(EMULATOR)

# --- counting instructions -----------------------------------------------------------------------------------------

# The plugin of the emulators that counts; it is loaded into the host's QEMU.
$(BUILD)/count.so: runtime/targets/count/count.c $(BUILD)/flags
	$(call say,$@)
	$(quiet)$(CC) -std=c11 -O2 $(WARNINGS) -fPIC -shared -fvisibility=hidden $< -o $@

# Without PLAN the plan is made from runtime/targets/count/mlp.yaml; SET='key=value ...' changes its settings.
ifeq ($(PLAN),)
emulate-count: private PLAN := $(BUILD)/count/plan
emulate-count: private PUB := $(BUILD)/count/key.pub.pem
emulate-count: private DATA := $(BUILD)/count/data
emulate-count: private LABELS := $(BUILD)/count/labels
endif

.PHONY: emulate-count
emulate-count: ## count the instructions of open and of a step on a board: TARGET=cortex-m7 [PLAN=P PUB=K DATA=F] [PREPARED=1] [LIBRARY=full]
	@.packages/install targets emulators
	@$(locked) $(MAKE) --no-print-directory -s -j$(JOBS) $(BUILD)/count.so $(if $(filter $(BUILD)/count/plan,$(PLAN)),$(BUILD)/firnc) V=1 >&2
	@$(if $(filter $(BUILD)/count/plan,$(PLAN)),runtime/targets/count/example $(BUILD)/firnc $(BUILD)/count $(SET))
	@BUILD='$(BUILD)' TARGET='$(or $(TARGET),cortex-m7)' PLAN='$(PLAN)' PUB='$(PUB)' DATA='$(DATA)' LABELS='$(LABELS)' \
	    STEPS='$(or $(STEPS),20)' PREPARED='$(PREPARED)' MAKE='$(MAKE)' runtime/targets/count/count

# Builds only the runner and prints its path.
.PHONY: emulator
emulator:
	@$(locked) $(MAKE) --no-print-directory -s -j$(JOBS) $(EMULATOR) V=1 >&2
	@echo $(EMULATOR)

# Compilers, optimisation levels and word sizes that must give the same bits: gcc-O2, clang-m32-O0, ...; without a
# level as this build: kernels and numerics -O3, all else -O2.
VARIANTS := gcc-O0 gcc-O2 gcc-O3 clang-O0 clang-O2 clang-O3 $(if $(filter x86_64,$(PROCESSOR)),gcc-m32 clang-m32)
# Few of them that have, with the build of this folder (gcc, -O3, 64 bits) and that for AArch64 (clang, -O3), every two of
# compiler, level and word size but -O3 in 32 bits. They have folders of their own, because they leave out other sets.
# tests/end_to_end/cover.py counts on these, and on a runner for AArch64 without its sets, which test-all compiles and emulates.
COVERING := gcc-O2 clang-O0 $(if $(filter x86_64,$(PROCESSOR)),gcc-m32-O0 clang-m32-O2,gcc-O0 clang-O2)
variant_FLAGS = CC=$(word 1,$(subst -, ,$(1))) CFLAGS_EXTRA='$(patsubst %,-%,$(wordlist 2,3,$(subst -, ,$(1))))$(if $(findstring m32,$(1)), -msse2 -mfpmath=sse)'
# A runner uses the fastest set of this CPU. One variant compiles the others, too: for what clang says of them.
variant_unused = $(strip $(if $(filter-out clang-O0,$(1)),$(LACKED) $(if $(filter avx512,$(LACKED)),,avx2) $(if $(filter avx2,$(LACKED)),,fma)))
# Of the covering ones, one has the sets of this CPU, and one fma. The others would take half a minute each to compile.
covering_unused = $(if $(filter clang-O0,$(1)),$(LACKED),$(if $(filter clang-m32-O2 clang-O2,$(1)),$(filter-out fma,$(SETS)),$(SETS)))

.PHONY: variants cover $(patsubst %,variant-%,$(VARIANTS)) $(patsubst %,cover-%,$(COVERING))
variants: $(patsubst %,variant-%,$(VARIANTS))
cover: $(patsubst %,cover-%,$(COVERING)) $(if $(filter x86_64,$(PROCESSOR)),cover-aarch64) $(BUILD)/runner
$(patsubst %,variant-%,$(VARIANTS)): variant-%:
	@$(MAKE) --no-print-directory -s BUILD=$(BUILD)/variants/$* $(call variant_FLAGS,$*) \
	    LEAVE_OUT='$(call variant_unused,$*)' $(BUILD)/variants/$*/runner
$(patsubst %,cover-%,$(COVERING)): cover-%:
	@$(MAKE) --no-print-directory -s BUILD=$(BUILD)/cover/$* $(call variant_FLAGS,$*) \
	    LEAVE_OUT='$(call covering_unused,$*)' $(patsubst %,$(BUILD)/cover/$*/%,runner $(if $(findstring m32,$*),,firn))
