#!/bin/sh
# Each message of firn and firnc is raised by a test. tests/messages/table says by which; the tests that it names are run once
# more, with a library that notes what they format, and each must raise what the table says. Messages that no input raises, with the
# reason, are in tests/messages/never, and those that no test raises yet in tests/messages/open: their number may only fall.
#
# Needs: python test_batch test_cli test_constants test_files test_fine_tuning test_front_end test_graph test_host test_images
# Needs: test_onnx test_passes test_perform test_recipe test_refusals test_report test_short_batch test_sign test_transformers
# Needs: test_trust_sweep test_update test_weights runner
set -eu

. tests/end_to_end/expectations

open=106

python3 tests/messages/messages.py check "$open" || fail "the table of messages"
export BUILD
python3 tests/messages/messages.py run || fail "messages that are not raised"
echo "$failures failures"
[ "$failures" -eq 0 ]
