# Measures the tests: what they notice (`make mutants`), and what they run (`make coverage`).

SEED ?=
STAGE ?= 2
LIMIT ?= 0
ONLY ?=
MUTANT_SECONDS ?= 3600
MINUTES ?= 0
DIR ?=
REPORT ?=
AGAIN ?=
# With these variables of make the mutants are built.
MUTANT_VARIABLES = $(foreach name,PORTABLE CC CFLAGS_EXTRA LEAVE_OUT,$(if $(filter command% environment%,$(origin $(name))),'$(name)=$($(name))'))

.PHONY: mutants
mutants: ## plant N=400 small faults and see which of them the tests notice; SEED= STAGE=1 LIMIT=seconds ONLY='word ...' REPORT=1 AGAIN=1
	@$(if $(REPORT),:,.packages/install test)
	@python3 tests/mutants/mutants.py --number $(or $(N),400) --seed '$(SEED)' --stage $(STAGE) --limit $(LIMIT) --only '$(ONLY)' \
	    --minutes $(MINUTES) --mutant-seconds $(MUTANT_SECONDS) --jobs $(JOBS) --folder '$(or $(DIR),$(BUILD)/mutants)' $(if $(REPORT),--report) \
	    $(if $(AGAIN),--again) -- $(MUTANT_VARIABLES)

.PHONY: coverage
coverage: ## what the unit tests and the scripts that take up to LIMIT=10 seconds run, by line and branch
	@.packages/install test
	@python3 tests/mutants/coverage.py --build $(BUILD)/coverage --jobs $(JOBS) --limit $(if $(filter-out 0,$(LIMIT)),$(LIMIT),10)
