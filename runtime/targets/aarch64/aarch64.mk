# Everything for AArch64, compiled on another machine into $(BUILD)/aarch64/ for tests/end_to_end/aarch64.sh, which runs it
# under qemu-aarch64. A machine that is one needs none of this: there `make all` builds the same.

AARCH64_LIBRARIES := .cache/aarch64
AARCH64_CC := clang --target=aarch64-linux-gnu
# Tests of kernels and of the control word.
AARCH64_TESTS := $(patsubst %,test_%,golden_ops kernels_attention_sets kernels_chunked kernels_engine kernels_normalise \
    kernels_sets kernels_sets_elements kernels_sets_images kernels_sets_logits numerics_soft runtime self_test)
AARCH64_PROGRAMS := firnc firn $(patsubst %,tests/%,$(AARCH64_TESTS))

aarch64_BUILD := BUILD=$(BUILD)/aarch64 CC='$(AARCH64_CC) -isystem $(AARCH64_LIBRARIES)/usr/include' \
    LDFLAGS_EXTRA=-L$(AARCH64_LIBRARIES)/usr/lib/aarch64-linux-gnu

.PHONY: aarch64 cover-aarch64
aarch64: ## build firnc, firn and tests of kernels for AArch64, with clang
ifneq ($(PROCESSOR),aarch64)
	@.packages/install aarch64
	@.packages/fetch-libraries arm64 aarch64-libraries $(AARCH64_LIBRARIES)
	@$(MAKE) --no-print-directory -s -j$(JOBS) $(aarch64_BUILD) $(patsubst %,$(BUILD)/aarch64/%,$(AARCH64_PROGRAMS))
endif

# The runner of a plan needs no other library than the C library.
cover-aarch64:
	@$(MAKE) --no-print-directory -s $(aarch64_BUILD) LEAVE_OUT='$(AARCH64_SETS)' $(BUILD)/aarch64/runner
