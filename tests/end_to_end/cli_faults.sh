#!/bin/sh
# What firn and firnc do when the machine fails them: closed descriptors, full disks, folders that cannot be read, files
# that change while they are read. Nothing may be lost or half written without a message that says so.
set -eu

. tests/end_to_end/expectations
BUILD=$(cd "$BUILD" && pwd)
FIRNC=$BUILD/firnc
FIRN=$BUILD/firn

# same NAME FILE FILE
same() {
    cmp -s "$2" "$3" || fail "$1"
}

cat >"$folder/recipe.yaml" <<'end'
trainer:
  init:
    seed: 1
    model: {name: mlp, input_size: 4, hidden_sizes: [5], output_size: 3, nonlinearity: tanh}
    optimizer: {SGD: {momentum: 0.5}}
    schedulers: [{ConstantLR: {learning_rate: 0.1}}]
    precision: {enabled: false}
    loop: {num_steps: 20}
  fit:
    train_dataloader: {batch_size: 4, shuffle: false, feature_type: float32, label_type: int32}
  validate:
    metric: accuracy
    val_dataloader: {batch_size: 4}
end
python3 - "$folder" <<'end'
import array, random, sys

def save(name, code, descr, shape, values):
    header = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (descr, shape)).ljust(117) + "\n"
    with open(sys.argv[1] + "/" + name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        array.array(code, values).tofile(file)

random.seed(1)
save("x.npy", "f", "<f4", (24, 4), [random.gauss(0, 1) for _ in range(96)])
save("y.npy", "i", "<i4", (24,), [random.randrange(3) for _ in range(24)])
save("other.npy", "f", "<f4", (24, 4), [0] * 96)
end
cd "$folder"
"$FIRNC" keygen key >out
# compile PLAN [--set ...]
compile() {
    plan=$1
    shift
    "$FIRNC" compile recipe.yaml --mode train --key key.key.pem -o "$plan" "$@" >out
}
# train PLAN ...
train() {
    plan=$1
    shift
    "$FIRN" train "$plan" --pub key.pub.pem --data x.npy --labels y.npy --threads 1 "$@"
}
compile run.plan

# --- standard descriptors that are closed ---------------------------------------------------------------------------

expect "a run" 0 "" train run.plan --quiet --checkpoint whole --log whole.jsonl
cp out whole.digest
closed() {
    "$@" <&- >&- 2>&-
}
for wanted in train compile; do
    status=0
    case $wanted in
    train) closed train run.plan --checkpoint closed --log closed.jsonl || status=$? ;;
    compile) closed "$FIRNC" compile recipe.yaml --mode train --key key.key.pem -o closed.plan || status=$? ;;
    esac
    [ $status -eq 0 ] || fail "closed descriptors, $wanted: exit $status"
done
same "closed descriptors: a message is in the checkpoint" closed whole
same "closed descriptors: a message is in the plan" closed.plan run.plan
sed 's/,"seconds":.*/}/' whole.jsonl >whole.lines
sed 's/,"seconds":.*/}/' closed.jsonl >closed.lines
same "closed descriptors: a message is in the log" closed.lines whole.lines
[ ! -e closed.lock ] || fail "closed descriptors: the lock is left, with a message in it"

# --- a folder that may be written and searched, but not read --------------------------------------------------------

# Root reads any folder, so root becomes another user.
unreadable() {
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}
mkdir blind
chmod 755 .
chmod 644 key.key.pem
cp "$FIRN" firn # a build folder may be closed to other users
cp "$FIRNC" firnc
[ "$(id -u)" -ne 0 ] || chown 65534 blind
chmod 300 blind
expect "compile into it" 0 "" unreadable ./firnc compile recipe.yaml --mode train --key key.key.pem -o blind/run.plan
expect "a checkpoint in it" 0 "" unreadable ./firn train blind/run.plan --pub key.pub.pem --data x.npy --labels y.npy \
    --quiet --threads 1 --steps 9 --checkpoint blind/checkpoint --checkpoint-every 4 --log blind/log
expect "an export into it" 0 "" unreadable ./firn export blind/checkpoint -o blind/parameters
expect "keys into it" 0 "" unreadable ./firnc keygen blind/mine
chmod 700 blind
for name in run.plan checkpoint log parameters mine.key.pem mine.pub.pem; do
    [ -s blind/$name ] || fail "a folder that cannot be read: no $name"
done
[ "$(ls blind | wc -l)" -eq 6 ] || fail "a folder that cannot be read has other files: $(ls blind)"

[ $failures -eq 0 ]
