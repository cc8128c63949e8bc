# The firmware in which tests/glitch/glitch.c skips instructions, for the Cortex-M7 that its emulator has, and the program.

$(BUILD)/glitch: tests/glitch/glitch.c $(BUILD)/flags
	$(call say,$@)
	$(quiet)$(CC) -std=gnu11 -O2 $(WARNINGS) $< -o $@ -lunicorn

$(call firmware_objects,cortex-m7,tests/glitch/target.c): private OPTIMIZE := -Os
# KEY names the public key that is linked in (runtime/targets/firmware.mk).
$(BUILD)/cortex-m7/glitch-%.elf: $(BUILD)/keys/%.c $(cortex-m7_OBJECTS) $(call firmware_objects,cortex-m7,tests/glitch/target.c \
		runtime/kernels/table.c) $(BUILD)/cortex-m7/kernels.a $(cortex-m7_SCRIPTS)
	$(call say,$@)
	$(quiet)$(cortex-m7_LINK) -std=c11 $(filter %.c %.o %.a,$^) -o $@

# Prints the paths of the program and of the firmware.
.PHONY: glitch-programs
glitch-programs:
	@$(locked) $(MAKE) --no-print-directory -s -j$(JOBS) $(BUILD)/glitch $(BUILD)/cortex-m7/glitch-$(KEY).elf V=1 >&2
	@echo $(BUILD)/glitch $(BUILD)/cortex-m7/glitch-$(KEY).elf
