#!/bin/sh
# firn-mpi on two machines: network namespaces of this one, with names of their own and a cable between them, where mpirun
# starts programs by a script in place of ssh. State and log have the bits of one process; a rank of the other machine that
# dies is named in one line; a cable that is pulled ends the run on the machine of rank 0, with a checkpoint that is whole.
# Skipped by name where Open MPI is missing or namespaces cannot be made.
#
# Needs: mpi
set -eu

. tests/end_to_end/expectations
if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
    echo "skipped: firn-mpi on two machines: Open MPI is missing (.packages/install mpi)"
    exit 0
fi
[ -x "$BUILD/firn-mpi" ] || {
    echo "FAILED: $BUILD/firn-mpi is missing; make it by: make mpi"
    exit 1
}
one=firn1-$$
two=firn2-$$
# The processes of both machines; a machine that is not there has none.
processes() {
    ip netns pids "$one" 2>/dev/null || true
    ip netns pids "$two" 2>/dev/null || true
}
remove_machines() {
    processes | xargs -r kill -9 || true
    ip netns del "$one" 2>/dev/null || true
    ip netns del "$two" 2>/dev/null || true
}
trap 'remove_machines; rm -rf "$folder"' EXIT
# on MACHINE COMMAND...
on() {
    machine=$1
    shift
    ip netns exec "$machine" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$machine" "$@"
}
cable() {
    ip netns add "$one" && ip netns add "$two" && ip link add firn1 netns "$one" type veth peer name firn2 netns "$two" &&
        ip -n "$one" addr add 10.77.0.1/24 dev firn1 && ip -n "$two" addr add 10.77.0.2/24 dev firn2 &&
        ip -n "$one" link set lo up && ip -n "$two" link set lo up && ip -n "$one" link set firn1 up &&
        ip -n "$two" link set firn2 up && on "$one" true
}
if ! cable >"$folder/out" 2>&1; then
    echo "skipped: firn-mpi on two machines: network namespaces cannot be made here (as root: ip netns add NAME)"
    exit 0
fi

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,vader,self
export TMPDIR="$folder" # of mpirun's session
MPI=$(cd "$BUILD" && pwd)/firn-mpi
text=$PWD/tests/golden/gpt2_training.txt
printf '10.77.0.1 slots=1\n10.77.0.2 slots=2\n' >"$folder/hosts"
cat >"$folder/agent" <<end
#!/bin/sh
case \$1 in 10.77.0.1) machine=$one ;; *) machine=$two ;; esac
shift
exec ip netns exec \$machine unshare --uts sh -c "hostname \$machine; \$*"
end
chmod +x "$folder/agent"

"$FIRNC" keygen "$folder/key" >"$folder/out"
"$FIRNC" compile compiler/recipes/small_gpt2.yaml --mode train --key "$folder/key.key.pem" -o "$folder/gpt2.train" \
    --set trainer.init.loop.micro_batch_order=tree --set trainer.init.loop.num_steps=100000 \
    --set trainer.fit.train_dataloader.batch_size=8 --set trainer.fit.train_dataloader.micro_batch_size=1 >"$folder/out"
# train OPTION...: on both machines; rank 0 is on the first, 1 and 2 are on the second
train() {
    on "$one" timeout 120 mpirun --mca plm_rsh_agent "$folder/agent" --hostfile "$folder/hosts" -n 3 "$MPI" train "$folder/gpt2.train" \
        --pub "$folder/key.pub.pem" --data "$text" --quiet "$@"
}
# start: a run that has saved its state once
start() {
    rm -f "$folder"/some.*
    train --checkpoint "$folder/some.ckpt" --checkpoint-every 1 --log "$folder/some.log" >"$folder/out" 2>"$folder/err" &
    started=$!
    waited=0
    while [ ! -e "$folder/some.ckpt" ] && [ $waited -lt 1200 ]; do
        sleep 0.05
        waited=$((waited + 1))
    done
    [ -e "$folder/some.ckpt" ] || fail "no checkpoint after a minute"
    [ "$(ranks_left)" -gt 0 ] || fail "no rank is seen"
}
# ranks_left: how many ranks have not ended
ranks_left() {
    processes | while read -r process; do
        cat "/proc/$process/comm" 2>/dev/null || true # it may end meanwhile
    done | grep -c '^firn-mpi$' || true
}
# ends NAME: all ranks end in time, and the checkpoint is whole
ends() {
    began=$(date +%s)
    while [ "$(ranks_left)" -gt 0 ] && [ $(($(date +%s) - began)) -le 40 ]; do sleep 0.2; done
    [ "$(ranks_left)" -eq 0 ] || fail "$1: $(ranks_left) ranks go on"
    "$FIRN" train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data "$text" --quiet --checkpoint "$folder/some.ckpt" \
        --log "$folder/some.log" --resume --steps 1 >"$folder/got" 2>&1 || fail "$1: cannot be resumed"
}

"$FIRN" train "$folder/gpt2.train" --pub "$folder/key.pub.pem" --data "$text" --quiet --steps 5 --checkpoint "$folder/one.ckpt" \
    >"$folder/one" 2>"$folder/err" || fail "one process"
train --steps 5 --verify-ranks 2 --checkpoint "$folder/two.ckpt" >"$folder/two" 2>"$folder/err" || fail "two machines: exit $?"
same "two machines have another digest" "$folder/one" "$folder/two"
same "two machines have another checkpoint" "$folder/one.ckpt" "$folder/two.ckpt"

start
victim=$(ip netns pids "$two" | while read -r process; do
    ! grep -qz '^OMPI_COMM_WORLD_RANK=2$' "/proc/$process/environ" || echo "$process"
done | head -n 1)
kill -9 "$victim"
ends "a rank that died"
status=0
wait $started || status=$?
[ $status -ne 0 ] || fail "a rank that died: exit 0"
[ "$(grep -c "^firn: firn-mpi: rank 2 (process $victim on $two) has died after step" "$folder/err")" -eq 1 ] ||
    fail "no line names the rank that died"

start
ip -n "$one" link set firn1 down
ends "a cable that was pulled"
[ "$(grep -c "^firn: firn-mpi: rank [12] (process [0-9]* on $two) has died after step" "$folder/err")" -eq 1 ] ||
    fail "no line names a rank behind the cable"

kill -9 $started 2>/dev/null || true # mpirun waits for the other machine

echo "4 runs, $failures failures"
[ $failures -eq 0 ]
