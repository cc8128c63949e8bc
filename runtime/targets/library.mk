# The library of a core, for a firmware that has its own build: make firmware-lib TARGET=t makes libfirn.a and the headers
# that it needs. Everything in it is optimised for size, and the linker takes of it what the firmware's parts name
# (firnc export PLAN --c). The targets themselves are in firmware.mk.

ifeq ($(cortex-m4f_CROSS),)
cortex-m4f_CROSS := arm-none-eabi-
cortex-m4f_MACHINE := -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard
cortex-m4f_SCRIPT := runtime/targets/cortex-m7/mps2-an500.ld
cortex-m4f_START := runtime/targets/cortex-m7/start.c
endif

LIBRARY_TARGETS := $(sort $(TARGETS) cortex-m4f)
LIBRARY_SOURCES := $(PLAN_SOURCES) $(SCHEDULES_SOURCES) $(CORE_SOURCES) $(NUMERICS_SOURCES) $(KERNELS_SOURCES) \
    runtime/kernels/set.c
LIBRARY_FLAGS := --specs=picolibc.specs -ffunction-sections -fdata-sections -fno-common

# $(1) is the target. Objects of its library, by source.
library_objects = $(patsubst %.c,$(BUILD)/$(1)/library/%.o,$(2))
library_start = $(or $($(1)_START),runtime/targets/$(1)/start.c)

define LIBRARY_RULES
$(BUILD)/$(1)/library/%.o: %.c $(BUILD)/$(1)/library/flags
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$($(1)_CROSS)gcc $($(1)_MACHINE) -std=c11 -Os $(FLOATING) $(WARNINGS) -I. -MMD -MP $(LIBRARY_FLAGS) \
	    $$(LIBRARY_OWN_FLAGS) -c $$< -o $$@

$(BUILD)/$(1)/library/flags: FORCE
	@mkdir -p $$(@D)
	@echo '$($(1)_MACHINE) $(LIBRARY_FLAGS)' | cmp -s - $$@ || echo '$($(1)_MACHINE) $(LIBRARY_FLAGS)' > $$@

$(call library_objects,$(1),plan/signature.c): private LIBRARY_OWN_FLAGS := $(MBEDTLS_FLAGS)
$(call library_objects,$(1),plan/signature.c): | $(MBEDTLS_READY)

$(BUILD)/$(1)/library/mbedtls/%.o: $(BUILD)/$(1)/library/flags plan/mbedtls_config.h $(MBEDTLS_READY)
	$$(call say,$$@)
	@mkdir -p $$(@D)
	$$(quiet)$($(1)_CROSS)gcc $($(1)_MACHINE) -std=c11 -Os -w -MMD -MP -I. $(LIBRARY_FLAGS) $(MBEDTLS_FLAGS) \
	    -c $(MBEDTLS_SOURCE)/library/$$*.c -o $$@

$(BUILD)/$(1)/library/signature.o: $(call library_objects,$(1),plan/signature.c) \
		$(addprefix $(BUILD)/$(1)/library/mbedtls/,$(MBEDTLS_OBJECTS))
	$$(call say,$$@)
	$$(quiet)$($(1)_CROSS)gcc $($(1)_MACHINE) $(PARTIAL_LINK) $$^ -o $$@
	$$(quiet)$($(1)_CROSS)objcopy --wildcard --keep-global-symbol='firn_*' $$@

$(BUILD)/$(1)/library/libfirn.a: $(call library_objects,$(1),$(LIBRARY_SOURCES)) $(BUILD)/$(1)/library/signature.o
	$$(call say,$$@)
	@rm -f $$@
	$$(quiet)$($(1)_CROSS)ar rcs $$@ $$^
endef
$(foreach target,$(LIBRARY_TARGETS),$(eval $(call LIBRARY_RULES,$(target))))
