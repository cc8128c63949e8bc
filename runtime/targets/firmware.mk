# Firmware for the two microcontrollers: the same sources, compiled for each into $(BUILD)/<target>/.

TARGETS := cortex-m7 rv32

cortex-m7_CROSS := arm-none-eabi-
cortex-m7_MACHINE := -mcpu=cortex-m7 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard
cortex-m7_SCRIPT := runtime/targets/cortex-m7/mps2-an500.ld

rv32_CROSS := riscv64-unknown-elf-
rv32_MACHINE := -march=rv32imafc -mabi=ilp32f
rv32_SCRIPT := runtime/targets/rv32/virt.ld

# Of picolibc only string.h is used, and its memcmp; start code and linker scripts are in runtime/targets.
FIRMWARE_FLAGS := --specs=picolibc.specs -ffunction-sections -fdata-sections -fno-common
FIRMWARE_CFLAGS := -std=c11 $(FLOATING) $(WARNINGS) -I. -MMD -MP -fcallgraph-info=su $(FIRMWARE_FLAGS)
FIRMWARE_LDFLAGS := $(FIRMWARE_FLAGS) -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings

FIRMWARE_KERNELS := $(filter-out runtime/kernels/table.c,$(KERNELS_SOURCES))
FIRMWARE_SOURCES := $(PLAN_SOURCES) $(SCHEDULES_SOURCES) $(CORE_SOURCES) $(NUMERICS_SOURCES) runtime/kernels/set.c
FIRMWARE_MEMORY := runtime/targets/memory/memory.c
EMULATED := $(TARGETS_COMMON) $(filter-out %/posix.c,$(wildcard runtime/targets/emulated/*.c))

# The smaller of the two examples contains only the kernels of this plan: make size PLAN=P.
EXAMPLE := $(or $(PLAN),$(BUILD)/example/small_mlp.plan)
EXAMPLE_KERNELS = $(shell $(BUILD)/firnc inspect '$(EXAMPLE)' --kernels)

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
	$$(quiet)$($(1)_CROSS)gcc $($(1)_MACHINE) $(FIRMWARE_CFLAGS) $$(OPTIMIZE) $$(OWN_FLAGS) -c $$< -o $$@

$(BUILD)/$(1)/flags: FORCE
	@mkdir -p $$(@D)
	@echo '$($(1)_MACHINE) $(FIRMWARE_CFLAGS)' | cmp -s - $$@ || echo '$($(1)_MACHINE) $(FIRMWARE_CFLAGS)' > $$@

# Optimised for size, except for the numerics, the kernels and the conversion of samples, in which a step spends its time.
$(call firmware_objects,$(1),$(FIRMWARE_SOURCES) $(KERNELS_SOURCES) $(EMULATED) plan/signature.c): private OPTIMIZE := -Os
$(call firmware_objects,$(1),$(NUMERICS_SOURCES) $(FIRMWARE_KERNELS) runtime/sample.c): private OPTIMIZE := -O2
$(call firmware_objects,$(1),runtime/targets/firmware_main.c runtime/targets/$(1)/start.c): private OPTIMIZE := -Os
$(call firmware_objects,$(1),$(FIRMWARE_MEMORY)): private OPTIMIZE := -O2 -ffreestanding -fno-tree-loop-distribute-patterns
$(call firmware_objects,$(1),plan/signature.c): private OWN_FLAGS := $(MBEDTLS_FLAGS)
$(call firmware_objects,$(1),plan/signature.c): | $(MBEDTLS_READY)

# The table with weak references: the linker includes only the kernels that -u names.
$(BUILD)/$(1)/objects/table-on-demand.o: runtime/kernels/table.c $(BUILD)/$(1)/flags
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$($(1)_CROSS)gcc $($(1)_MACHINE) $(FIRMWARE_CFLAGS) -Os -DFIRN_KERNELS_ON_DEMAND -c $$< -o $$@

$(BUILD)/$(1)/mbedtls/%.o: $(BUILD)/$(1)/flags plan/mbedtls_config.h $(MBEDTLS_READY)
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$($(1)_CROSS)gcc $($(1)_MACHINE) -std=c11 -Os -w -MMD -MP -fcallgraph-info=su -I. $(FIRMWARE_FLAGS) $(MBEDTLS_FLAGS) \
	    -c $(MBEDTLS_SOURCE)/library/$$*.c -o $$@

$(BUILD)/$(1)/signature.o: $(call firmware_objects,$(1),plan/signature.c) \
		$(addprefix $(BUILD)/$(1)/mbedtls/,$(MBEDTLS_OBJECTS))
	$$(call say,$$@)
	$$(quiet)$($(1)_CROSS)gcc $($(1)_MACHINE) $(PARTIAL_LINK) $$^ -o $$@
	$$(quiet)$($(1)_CROSS)objcopy --wildcard --keep-global-symbol='firn_*' $$@

$(BUILD)/$(1)/kernels.a: $(call firmware_objects,$(1),$(FIRMWARE_KERNELS))
	$$(call say,$$@)
	@rm -f $$@
	$$(quiet)$($(1)_CROSS)ar rcs $$@ $$^

$(1)_OBJECTS := $(call firmware_objects,$(1),runtime/targets/$(1)/start.c $(FIRMWARE_MEMORY) $(FIRMWARE_SOURCES)) $(BUILD)/$(1)/signature.o
$(1)_LINK = $($(1)_CROSS)gcc $($(1)_MACHINE) $(FIRMWARE_LDFLAGS) -T $($(1)_SCRIPT) -Wl,-Map=$$@.map

# The example with all kernels, and with only the kernels of one plan.
$(BUILD)/$(1)/example.elf: $$($(1)_OBJECTS) $(call firmware_objects,$(1),runtime/targets/firmware_main.c \
		runtime/kernels/table.c) $(BUILD)/$(1)/kernels.a $($(1)_SCRIPT)
	$$(call say,$$@)
	$$(quiet)$$($(1)_LINK) $$(filter %.o %.a,$$^) -o $$@

$(BUILD)/$(1)/example-on-demand.elf: $$($(1)_OBJECTS) $(call firmware_objects,$(1),runtime/targets/firmware_main.c) \
		$(BUILD)/$(1)/objects/table-on-demand.o $(BUILD)/$(1)/kernels.a $($(1)_SCRIPT) FORCE
	$$(call say,$$@)
	$$(quiet)$$($(1)_LINK) $$(filter %.o %.a,$$^) $$(EXAMPLE_KERNELS) -o $$@

# The runner for the emulator; the public key is linked in.
$(BUILD)/$(1)/emulator-%.elf: $(BUILD)/keys/%.c $$($(1)_OBJECTS) $(call firmware_objects,$(1),$(EMULATED) \
		runtime/kernels/table.c) $(BUILD)/$(1)/kernels.a $($(1)_SCRIPT)
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

call_graph = find $(BUILD)/$(1)/objects $(BUILD)/$(1)/mbedtls -name '*.ci' ! -path '*/runtime/targets/*' -exec cat {} +

define CHECK_RULES
.PHONY: check-$(1) size-$(1)
check-$(1): $(BUILD)/$(1)/example.elf runtime/targets/stack.awk
	@runtime/targets/check-symbols $($(1)_CROSS)nm $$< $$($(1)_OBJECTS) $(BUILD)/$(1)/kernels.a
	@echo '$(1): no allocator, no printf, no double outside schedules; stack of each function, the platform apart:'
	@$(call call_graph,$(1)) | awk -f runtime/targets/stack.awk

size-$(1): $(BUILD)/$(1)/example.elf $(BUILD)/$(1)/example-on-demand.elf
	@echo '$(1), every kernel:'
	@awk -f runtime/targets/size.awk $(BUILD)/$(1)/example.elf.map
	@echo '$(1), the kernels of $(EXAMPLE):'
	@awk -f runtime/targets/size.awk $(BUILD)/$(1)/example-on-demand.elf.map
endef
$(foreach target,$(TARGETS),$(eval $(call CHECK_RULES,$(target))))

.PHONY: targets
targets: ## build the firmware example for both microcontrollers, check it, print its stack
	@.packages/install targets
	@$(MAKE) --no-print-directory -j$(JOBS) firmware
	@$(MAKE) --no-print-directory $(patsubst %,check-%,$(TARGETS))

.PHONY: size
size: ## code size by part, with every kernel and with those of a plan; PLAN=P
	@.packages/install targets
	@$(MAKE) --no-print-directory -s -j$(JOBS) firmware $(EXAMPLE) V=1 >&2
	@$(MAKE) --no-print-directory $(patsubst %,size-%,$(TARGETS))

# --- running a plan ------------------------------------------------------------------------------------------------

# The public key PUB, in a file named after its hash, so that runs with different keys do not share a file.
ifdef PUB
KEY := $(shell sha256sum < '$(PUB)' 2>/dev/null | cut -c 1-16)
endif

$(BUILD)/keys/%.c: runtime/targets/emulated/public-key
	@mkdir -p $(@D)
	@runtime/targets/emulated/public-key --c '$(PUB)' > $@.part && mv $@.part $@

# The same runner for this machine and for variants of its compiler, without semihosting.
$(BUILD)/runner: $(call object,$(TARGETS_COMMON) $(filter-out %/semihosting.c,$(wildcard runtime/targets/emulated/*.c))) \
		$(LIBFIRN)
	$(call say,$@)
	$(quiet)$(CC) $(LDFLAGS) $^ -o $@ -lm

EMULATOR := $(if $(filter host,$(TARGET)),$(BUILD)/runner,$(BUILD)/$(TARGET)/emulator-$(KEY).elf)

.PHONY: emulate
emulate: ## run a plan on an emulated board: TARGET=cortex-m7|rv32 PLAN=P PUB=K DATA=F [LABELS=G] STEPS=N [CHECKPOINT=F]
	@test -n '$(filter host $(TARGETS),$(TARGET))' || { echo 'emulate: TARGET is $(TARGETS) or host' >&2; exit 2; }
	@test -r '$(PUB)' || { echo 'emulate: PUB=$(PUB) cannot be read; it is the .pub.pem of firnc keygen' >&2; exit 2; }
	@$(MAKE) --no-print-directory -s -j$(JOBS) $(EMULATOR) V=1 >&2
	@PLAN='$(PLAN)' PUB='$(PUB)' DATA='$(DATA)' LABELS='$(LABELS)' STEPS='$(STEPS)' CHECKPOINT='$(CHECKPOINT)' \
	    RESUME='$(RESUME)' PREPARED='$(PREPARED)' TRY='$(TRY)' runtime/targets/emulated/run $(TARGET) $(EMULATOR)

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
emulate-count: ## count the instructions of open and of a step on a board: TARGET=cortex-m7 [PLAN=P PUB=K DATA=F] [PREPARED=1]
	@.packages/install targets emulators
	@$(MAKE) --no-print-directory -s -j$(JOBS) $(BUILD)/count.so $(if $(filter $(BUILD)/count/plan,$(PLAN)),$(BUILD)/firnc) V=1 >&2
	@$(if $(filter $(BUILD)/count/plan,$(PLAN)),runtime/targets/count/example $(BUILD)/firnc $(BUILD)/count $(SET))
	@BUILD='$(BUILD)' TARGET='$(or $(TARGET),cortex-m7)' PLAN='$(PLAN)' PUB='$(PUB)' DATA='$(DATA)' LABELS='$(LABELS)' \
	    STEPS='$(or $(STEPS),20)' PREPARED='$(PREPARED)' MAKE='$(MAKE)' runtime/targets/count/count

# Builds only the runner and prints its path.
.PHONY: emulator
emulator:
	@$(MAKE) --no-print-directory -s $(EMULATOR) V=1 >&2
	@echo $(EMULATOR)

# Compilers, optimisation levels and word sizes that must give the same bits.
VARIANTS := gcc-O0 gcc-O2 gcc-O3 clang-O0 clang-O2 clang-O3 gcc-m32 clang-m32
variant_FLAGS = CC=$(word 1,$(subst -, ,$(1))) CFLAGS_EXTRA='-$(word 2,$(subst -, ,$(1)))$(if $(findstring m32,$(1)), -msse2 -mfpmath=sse)'

.PHONY: variants $(patsubst %,variant-%,$(VARIANTS))
variants: $(patsubst %,variant-%,$(VARIANTS))
$(patsubst %,variant-%,$(VARIANTS)): variant-%:
	@$(MAKE) --no-print-directory -s BUILD=$(BUILD)/variants/$* $(call variant_FLAGS,$*) $(BUILD)/variants/$*/runner
