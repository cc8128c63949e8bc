"""How long a step takes with R ranks: measures, and a simulator (runtime/SCALING.md).

    scaling.py measure BUILD [RANKS...]    runs a GPT-2 with 1 and 2 ranks and a ping-pong, prints the parameters of this
                                           machine as JSON, and for each other number of ranks the step as it was
                                           predicted and as it was
    scaling.py compare BUILD ROUNDS [OPTION...]
                                           runs GPT-2 124M in one process with two threads and in two ranks with one, in
                                           turns, and prints for each the median of its steps without the first, in
                                           seconds and in seconds of CPU of the run; options are firnc's
    scaling.py curve FILE                  reads such parameters, and prints the steps of 1 to 1,024 ranks

A step of R ranks with M micro-batches and G bytes of gradients takes, on the rank that is last,

    micro-batches      ceil(M / R) micro
    update             update / R
    sums, parameters   (nodes + 1) (1 - 1/R) G / rate
    messages           latency for each that a rank posts
    waiting            wait

micro and update follow from two runs of one process with M and M/2 micro-batches, rate and latency from the ping-pong,
wait from two ranks. Ranks on one machine with fewer CPUs take turns: then all but the latency is R / CPUs times as long."""
import json, math, os, re, resource, statistics, subprocess, sys, tempfile
from pathlib import Path

MICRO_BATCHES, STEPS, REPEATS = 8, 200, 4
CHUNK_MOST, CHUNK_LEAST, CHUNKS_MOST = 1 << 18, 1 << 12, 1 << 21  # elements, as in runtime/ranks/ranks.c


def segments(first, end):
    """The segments that a share is cut into."""
    count = 0
    while first < end:
        length = 1
        while first % (2 * length) == 0 and first + 2 * length <= end:
            length *= 2
        first, count = first + length, count + 1
    return count


def shares(ranks, micro_batches):
    each, more = divmod(micro_batches, ranks)
    bounds = [each * r + more * r // ranks for r in range(ranks + 1)]
    return list(zip(bounds, bounds[1:]))


def messages(ranks, micro_batches, elements):
    """How many messages a rank posts in a step: chunks of sums, its parameters, errors, losses, and the command."""
    nodes = [segments(*share) for share in shares(ranks, micro_batches)]
    lists = max(sum(nodes), ranks * max(nodes))
    chunk = min(max(CHUNKS_MOST // lists // CHUNK_LEAST * CHUNK_LEAST, CHUNK_LEAST), CHUNK_MOST)
    rounds = math.ceil(elements / ranks / chunk)
    return (ranks - 1) * (rounds * max(nodes) + 4)


def step(machine, ranks, cpus=None):
    """Seconds of a step. cpus: of the machine that all ranks share; None: each has one for itself."""
    m, g = machine["micro_batches"], machine["gradient_bytes"]
    work = max(b - a for a, b in shares(ranks, m)) * machine["micro"] + machine["update"] / ranks
    if ranks == 1:
        return work
    nodes = max(segments(*share) for share in shares(ranks, m))
    moved = (nodes + 1) * (1 - 1 / ranks) * g / machine["rate"]
    turns = max(1, ranks / cpus) if cpus else 1
    return turns * (work + moved + machine["wait"]) + machine["latency"] * messages(ranks, m, g // 4)


# --- measures ----------------------------------------------------------------------------------------------------------

def run(*words):
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=env)
    if done.returncode:
        sys.exit(f"{words[0]}: {done.stderr}")
    return done.stdout + done.stderr


def measure(build, numbers):
    with tempfile.TemporaryDirectory() as folder:
        folder, build = Path(folder), Path(build)
        run(build / "firnc", "keygen", folder / "key")
        (folder / "text").write_bytes(b"".join(p.read_bytes() for p in sorted(Path("plan").glob("*.md"))))

        def compile(m):
            run(build / "firnc", "compile", "compiler/recipes/small_gpt2.yaml", "--mode", "train", "--key",
                folder / "key.key.pem", "-o", folder / f"{m}.plan", *(word for setting in (
                    "model.hidden_size=128", "model.filter_size=512", "model.max_position_embeddings=32",
                    "loop.micro_batch_order=tree", f"loop.num_steps={STEPS}", "precision.enabled=false") for word in
                    ("--set", f"trainer.init.{setting}")), *(word for setting in (
                        f"batch_size={2 * m}", "micro_batch_size=2", "max_sequence_length=32") for word in
                        ("--set", f"trainer.fit.train_dataloader.{setting}")))

        best = {}

        def look(m, ranks):
            """Keeps the least of the steps: what others do on the machine makes them longer, never shorter."""
            log = folder / "log"
            log.unlink(missing_ok=True)
            said = run("mpirun", "--oversubscribe", "-n", ranks, build / "firn-mpi", "train", folder / f"{m}.plan", "--pub",
                       folder / "key.pub.pem", "--data", folder / "text", "--threads", 1, "--steps", STEPS, "--log", log)
            steps = [json.loads(line)["seconds"] for line in log.read_text().splitlines()[1:]]
            sent = re.search(r"times the (\d+) bytes", said)
            best[m, ranks] = min(steps), int(sent.group(1)) if sent else 0
            return best[m, ranks]

        compile(MICRO_BATCHES), compile(MICRO_BATCHES // 2)
        cases = [(MICRO_BATCHES, ranks) for ranks in (1, 2, *numbers)] + [(MICRO_BATCHES // 2, 1)]
        for case in cases * REPEATS: # in turn, so that a busy minute does not hit one of them alone
            before = best.get(case)
            best[case] = min(look(*case), before or (math.inf, 0))
        whole, half = best[MICRO_BATCHES, 1][0], best[MICRO_BATCHES // 2, 1][0]
        two, gradient_bytes = best[MICRO_BATCHES, 2]
        run("mpicc", "-O2", "tests/bench/scaling/ping_pong.c", "-o", folder / "ping_pong")
        latency, rate = map(float, run("mpirun", "--oversubscribe", "-n", 2, folder / "ping_pong").split())
        micro = 2 * (whole - half) / MICRO_BATCHES
        machine = {"micro_batches": MICRO_BATCHES, "gradient_bytes": gradient_bytes, "micro": micro,
                   "update": max(whole - MICRO_BATCHES * micro, 0), "latency": latency, "rate": rate, "wait": 0}
        cpus = len(os.sched_getaffinity(0))
        machine["wait"] = max(two - step(machine, 2, cpus), 0)
        print(json.dumps(machine))
        for ranks in numbers:
            wanted, got = step(machine, ranks, cpus), best[MICRO_BATCHES, ranks][0]
            print(f"{ranks} ranks: predicted {wanted:.4f} s, was {got:.4f} s, {100 * (wanted / got - 1):+.0f} %")


def compare(build, rounds, options):
    loader = "trainer.fit.train_dataloader"
    settings = ("trainer.init.loop.num_steps=4", "trainer.init.loop.micro_batch_order=tree", f"{loader}.batch_size=4",
                f"{loader}.micro_batch_size=1", f"{loader}.max_sequence_length=256")
    with tempfile.TemporaryDirectory() as folder:
        folder, build = Path(folder), Path(build)
        run(build / "firnc", "keygen", folder / "key")
        (folder / "text").write_bytes(b"".join(p.read_bytes() for p in sorted(Path("plan").glob("*.md"))))
        run(build / "firnc", "compile", "tests/bench/recipes/gpt2_124m.yaml", "--mode", "train", "--key", folder / "key.key.pem",
            "-o", folder / "plan", *(word for setting in settings for word in ("--set", setting)), *options)
        programs = {"one process, two threads": ((build / "firn",), 2),
                    "two ranks, one thread each": (("mpirun", "-n", 2, build / "firn-mpi"), 1)}
        steps, cpu, digests = {name: [] for name in programs}, {name: 0 for name in programs}, set()
        for name in [*programs] * rounds:
            words, threads = programs[name]
            log = folder / "log"
            log.unlink(missing_ok=True)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            said = run(*words, "train", folder / "plan", "--pub", folder / "key.pub.pem", "--data", folder / "text", "--threads",
                       threads, "--log", log)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu[name] += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            steps[name] += [json.loads(line)["seconds"] for line in log.read_text().splitlines()[2:]]
            digests.add(re.search("digest [0-9a-f]+", said).group())
        one, two = (statistics.median(steps[name]) for name in programs)
        for name in programs:
            print(f"{name}: {statistics.median(steps[name]):.3f} s a step ({min(steps[name]):.3f} to {max(steps[name]):.3f}), "
                  f"{cpu[name] / rounds:.1f} s of CPU a run")
        print(f"two ranks are {one / two:.3f} times as fast; {'equal digests' if len(digests) == 1 else 'OTHER DIGESTS'}")


def curve(path):
    """Of the machine's own network, and with as many micro-batches as 1,024 ranks need."""
    machine = json.loads(Path(path).read_text().splitlines()[0])
    machine["micro_batches"] = 1024
    alone = step(machine, 1)
    print("ranks  seconds  speed  share of it")
    for ranks in (2**k for k in range(11)):
        now = step(machine, ranks)
        print(f"{ranks:5}  {now:7.4f}  {alone / now:5.0f}  {alone / now / ranks:.2f}")


if __name__ == "__main__":
    if len(sys.argv) >= 3 and sys.argv[1] == "measure":
        measure(sys.argv[2], [int(word) for word in sys.argv[3:]])
    elif len(sys.argv) >= 4 and sys.argv[1] == "compare":
        compare(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    elif len(sys.argv) == 3 and sys.argv[1] == "curve":
        curve(sys.argv[2])
    else:
        sys.exit(__doc__)
