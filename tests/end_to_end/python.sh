#!/bin/sh
# The Python package firn: its wheel is built and installed in a new environment without a network; runs have the digests
# of firn train; 1,000 calls that are wrong raise exceptions; and the example of its page is what PyTorch computes, where
# PyTorch is installed.
#
# Needs: wheel
set -eu

. tests/end_to_end/expectations

root=$PWD
case $BUILD in /*) ;; *) BUILD=$root/$BUILD ;; esac
export BUILD

# --- the wheel -----------------------------------------------------------------------------------------------------

python3 -m venv --system-site-packages "$folder/environment"
"$folder/environment/bin/pip" install --quiet --no-index --no-deps ./compiler/bindings/python >"$folder/out" 2>&1 ||
    fail "pip install ./compiler/bindings/python"
: >"$folder/out"

# --- what it computes ----------------------------------------------------------------------------------------------

cd "$folder"
"$BUILD/firnc" keygen test >/dev/null
"$folder/environment/bin/python" "$root/tests/end_to_end/python.py" "$root/compiler/recipes" "$BUILD/firn" "$folder" \
    >out 2>err || fail "python.py"
[ ! -s err ] || fail "python.py writes to standard error: $(head -n 3 err)"

# --- the page ------------------------------------------------------------------------------------------------------

page=$root/compiler/bindings/python/README.md
sed -n '/^```yaml$/,/^```$/p' "$page" | sed '1d;$d' >net.yaml
sed -n '/^```python$/,/^```$/p' "$page" | sed '1d;$d' >example.py
torch=
for python in python3 ${TORCH_PYTHON:-}; do # TORCH_PYTHON: another Python, which has it
    [ -n "$torch" ] || ! "$python" -c 'import torch' 2>/dev/null || torch=$python
done
if [ -z "$torch" ]; then
    echo "python.sh: PyTorch is not installed, so the page's example was not run"
else
    {
        echo 'import warnings; warnings.simplefilter("ignore")'
        sed 's/^model = .*/&\nimport copy; twin = copy.deepcopy(model)/' example.py
        cat <<'END'
optimizer = torch.optim.SGD(twin.parameters(), lr=0.05, momentum=0.9)
for i, row in enumerate(rows):
    at = i * 32 % 256
    loss = torch.nn.functional.cross_entropy(twin(torch.from_numpy(x[at:at + 32])), torch.from_numpy(y[at:at + 32]).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    assert abs(loss.item() - row["loss"]) < 1e-6, (i, loss.item(), row["loss"])
assert len(rows) == 40 and sum(r["loss"] for r in rows[-8:]) < sum(r["loss"] for r in rows[:8])  # the same batches
for name, value in twin.state_dict().items():
    assert (value - model.state_dict()[name]).abs().max() < 1e-6, name
END
    } >page.py
    PYTHONPATH=$BUILD/python "$torch" page.py >out 2>err || fail "the page's example: $(tail -n 1 err)"
    [ "$(wc -l <out)" -ge 40 ] || fail "the page's example prints no losses"
fi

[ "$failures" -eq 0 ]
