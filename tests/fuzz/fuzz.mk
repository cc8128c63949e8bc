# The fuzz targets of tests/fuzz, with libFuzzer (`make fuzz`) and without (`make test`).

FUZZ_TARGETS := container payload schedule checkpoint serial
# The compiler's libraries exist for this machine's word size only.
ifeq ($(filter -m32,$(MACHINE)),)
FUZZ_COMPILER := recipe statistics weights onnx tokenizer older_run
FUZZ_READERS := arrays archive tokens table images
FUZZ_TARGETS += $(FUZZ_COMPILER) $(FUZZ_READERS)
FUZZ_ORACLE := tests/oracle/oracle.cc
else
FUZZ_ORACLE := tests/oracle/without_oracle.c
endif

# clang links libFuzzer and its main; other builds have the main of standalone.c.
FUZZ_MAIN := $(if $(findstring fuzzer,$(CFLAGS_EXTRA)),,$(call object,tests/fuzz/standalone.c))
FUZZ_LDFLAGS := $(if $(FUZZ_MAIN),$(LDFLAGS),$(subst fuzzer-no-link,fuzzer,$(LDFLAGS)))

# g++ has no libFuzzer; the oracle is not what is fuzzed.
$(call object,tests/oracle/oracle.cc): private override CFLAGS_EXTRA := $(filter -m%,$(CFLAGS_EXTRA))
FUZZ_COMMON := $(call object,tests/fuzz/plans.c tests/unit/support_plan_walk.c $(FUZZ_ORACLE))

$(BUILD)/fuzz/%: $(call object,tests/fuzz/%.c) $(FUZZ_COMMON) $(FUZZ_MAIN) $(LIBFIRN)
	$(call say,$@)
	@mkdir -p $(@D)
	$(quiet)$(CC) $(FUZZ_LDFLAGS) -Wl,--wrap=firn_signature_check $(filter-out $(LIBFIRN),$^) $(LIBFIRN) $(FUZZ_LIBRARIES) \
	    -Wl,--as-needed -lstdc++ -lm -o $@
$(patsubst %,$(BUILD)/fuzz/%,$(FUZZ_COMPILER)): $(LIBFIRNC)
$(patsubst %,$(BUILD)/fuzz/%,$(FUZZ_COMPILER)): private FUZZ_LIBRARIES := $(LIBFIRN) -lyaml -lcjson -lprotobuf-c -lz

$(patsubst %,$(BUILD)/fuzz/%,$(FUZZ_READERS)): $(call object,tests/fuzz/readers.c) $(LIBFIRNHOST)
$(patsubst %,$(BUILD)/fuzz/%,$(FUZZ_READERS)): private FUZZ_LIBRARIES = $(LIBFIRN) $(HOST_LIBRARIES) -pthread

.PHONY: fuzz-programs
fuzz-programs: $(patsubst %,$(BUILD)/fuzz/%,$(FUZZ_TARGETS))

# SECONDS for each target and word size; a finding stops make and leaves its input in $(BUILD)/fuzz-findings.
SECONDS ?= 60
FUZZ_SANITIZE := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g -O1
FUZZ_BITS := 64 $(if $(filter x86_64,$(PROCESSOR)),32)

.PHONY: fuzz
fuzz: ## fuzz every parser and the update protocol under ASan and UBSan, in 64 bits and on x86 32, then run hostile plans; SECONDS=60 MUTANTS=200000
	@.packages/install fuzz
	@$(MAKE) --no-print-directory -s -j$(JOBS) CC=clang PORTABLE=1 BUILD=$(BUILD)/fuzz64 CFLAGS_EXTRA='$(FUZZ_SANITIZE)' fuzz-programs
	@$(if $(filter 32,$(FUZZ_BITS)),$(MAKE) --no-print-directory -s -j$(JOBS) CC=clang PORTABLE=1 BUILD=$(BUILD)/fuzz32 \
	    CFLAGS_EXTRA='$(FUZZ_SANITIZE) -m32 -msse2 -mfpmath=sse' fuzz-programs,:)
	@BUILD=$(BUILD) SECONDS=$(SECONDS) JOBS=$(JOBS) tests/fuzz/run $(foreach bits,$(FUZZ_BITS),$(BUILD)/fuzz$(bits))
	@$(MAKE) --no-print-directory fuzz-plans
