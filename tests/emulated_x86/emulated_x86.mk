# The kernel sets of AVX-512 on an emulated CPU: tests/emulated_x86/run.sh. The emulator is a package of PyPI, unpacked into
# .cache/bochscpu; its checksums are those for Python 3.11 and for later ones.

BOCHSCPU := .cache/bochscpu
BOCHSCPU_SHA256 := 08297de4c657fcda712c66745388cf81cd056e01083473c44868b96f6ea020ad \
    b37d30611b7e4ffc00a111fe0a6b5b253a102c233fd6dc083f5cb0918ee2a1ae
# Tests of kernels, about five minutes of CPU in all. Too much of kernels_sets_elements does not depend on FIRN_TEST_EVERY.
EMULATED_X86_TESTS := $(patsubst %,$(BUILD)/tests/test_%,kernels_attention_sets kernels_chunked kernels_engine \
    kernels_sets kernels_sets_images kernels_sets_logits)

$(BUILD)/emulated_x86.so: tests/emulated_x86/corrections.c
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)$(CC) $(CFLAGS) -fPIC -shared $< -o $@ -ldl

.PHONY: emulate-x86
emulate-x86: ## run tests of kernels and plans with the sets of AVX-512 on an emulated CPU; ONLY='word ...' selects
	@.packages/install emulate-x86
	@.packages/fetch-wheel bochscpu-python 0.4.0 $(BOCHSCPU) $(BOCHSCPU_SHA256)
	@$(MAKE) --no-print-directory -s -j$(JOBS) $(BUILD)/firnc $(BUILD)/firn $(EMULATED_X86_TESTS) $(BUILD)/emulated_x86.so
	@BUILD=$(BUILD) BOCHSCPU=$(BOCHSCPU) TESTS='$(EMULATED_X86_TESTS)' tests/emulated_x86/run.sh $(ONLY)
