# `make bare`: the two commands of the README on a Debian that has nothing else installed. tests/bare/run says the
# variables. RUN is a command of the shell in place of the two.

.PHONY: bare
bare: ## demo-host and test in a fresh minimal Debian 12, as root; DIR= KEEP=1 MIRROR= RUN='make check T=flash'
	@DIR='$(DIR)' KEEP='$(KEEP)' MIRROR='$(MIRROR)' tests/bare/run $(if $(RUN),'$(RUN)')
