"""Prints the tables of runtime/SPEED.md from report.json of `make bench`, so that a table's figures are those of one run.

    python3 tests/bench/tables.py [--check] [FILE]

FILE is build/bench/report.json if it is left out. --check prints no table, and fails if a row lacks something. The head
of tests/bench/json.c describes the file. PyTorch's columns are its time divided by Firn's in the same round: above 1 Firn
is ahead. "±" is half of the distance of the quartiles. An empty cell was not measured; a row in square brackets is
followed by the reason.
"""
import json
import sys

WAYS = {"eager": "eager", "compiled": "compiled", "bf16": "bf16 autocast", "bf16_compiled": "bf16 autocast, compiled",
        "channels_last": "channels last", "channels_last_compiled": "channels last, compiled",
        "bf16_channels_last": "bf16, channels last", "bf16_channels_last_compiled": "bf16, channels last, compiled"}
PLAIN = ["eager", "compiled", "bf16", "bf16_compiled"]
IMAGES = ["eager", "compiled", "channels_last", "channels_last_compiled", "bf16", "bf16_compiled", "bf16_channels_last",
          "bf16_channels_last_compiled"]
NETWORKS_OVER_IMAGES = ("resnet8", "mobilenet", "cct")


# --- the file ---


def check_spread(spread, rounds):
    low, high = spread["quartiles"]
    assert 0 < low <= spread["median"] <= high and len(spread["rounds"]) == rounds
    assert low >= min(value for value in spread["rounds"] if value > 0) and high <= max(spread["rounds"])


def check_row(row):
    assert row["reference"] in ("peak", "streams", "triad", "reads", "none") and row["what"] and row["shape"] and row["storage"]
    for name in ("seconds", "of_one_thread", "of_all_threads", "by_first"):
        if name in row:
            check_spread(row[name], row["rounds"])
    assert row["rounds"] > 0 or "left out" in row["note"]
    share = "of_one_thread" if row["reference"] == "reads" else "of_all_threads"
    if row["rounds"] > 0 and row["what"] != "memory" and "op" not in row:
        assert row["contest"] > 0 and "seconds" in row and (row["reference"] == "none" or share in row)
    for way, answer in row["torch"].items():
        assert way in WAYS and ("why" in answer) != ("seconds" in answer)
        if "seconds" in answer:
            check_spread(answer["seconds"], row["rounds"])
            check_spread(answer["by_ours"], row["rounds"])


def check(report):
    assert report["schema"] == 2 and report["command"] and report["seconds"] > 0
    assert len(report["date"]) == 20 and report["commit"] and 0 <= report["turns_left_out"] <= report["turns"]
    machine = report["machine"]
    for name in ("name", "features", "siblings", "caches", "kernels", "peak"):
        assert machine[name], name
    for name in ("cpus", "memory", "threads", "peak_one_thread", "peak_all_threads", "triad_one_thread", "triad_all_threads"):
        assert machine[name] > 0, name
    for engine in machine["engines"]:
        assert engine["instruction"] and engine["peak_one_thread"] > 0 and engine["peak_all_threads"] > 0
    assert report["torch"] is None or report["torch"]["version"]
    assert report["rows"]
    for row in report["rows"]:
        try:
            check_row(row)
        except (AssertionError, KeyError) as error:
            raise SystemExit(f"row {row}: {error!r}")


# --- cells ---


def seconds_text(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def spread_text(spread):
    low, high = spread["quartiles"]
    return f"±{50 * (high - low) / spread['median']:.0f} %"


def time_cell(row):
    return f"{seconds_text(row['seconds']['median'])} {spread_text(row['seconds'])}" if "seconds" in row else f"[{row['note']}]"


def share_cell(row, name="of_all_threads"):
    return f"{100 * row[name]['median']:.0f} %" if row and name in row else ""


def ratio_cell(row, name="by_first"):
    return f"{row[name]['median']:.2f}" if row and name in row else ""


def torch_cell(row, way):
    answer = row["torch"].get(way, {})
    return f"{answer['by_ours']['median']:.2f} {spread_text(answer['by_ours'])}" if "by_ours" in answer else ""


def print_table(title, head, lines):
    if not lines:
        return
    print(f"\n## {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for line in lines:
        print("| " + " | ".join(line) + " |")


# --- tables ---


def rows_of(report, what):
    return [row for row in report["rows"] if row["what"] == what and "op" not in row]


def is_over_images(row):
    return row["shape"].startswith(NETWORKS_OVER_IMAGES)


def print_steps(report):
    steps = [row for row in rows_of(report, "step") if not is_over_images(row)]
    lines = [[row["shape"], row["storage"], time_cell(row), share_cell(row), ratio_cell(row)] + [torch_cell(row, way) for way in PLAIN]
             for row in steps]
    print_table("Training steps", ["step", "storage", "time", "share of peak", "by first"] + [WAYS[way] for way in PLAIN], lines)
    lines = [[row["shape"], row["storage"], time_cell(row)] + [torch_cell(row, way) for way in IMAGES]
             for row in rows_of(report, "step") if is_over_images(row)]
    print_table("Networks over images", ["step", "storage", "time"] + [WAYS[way] for way in IMAGES], lines)


# The rows that PyTorch is compared with, and the way that it is run in their type.
RIVALS = {"float32": "eager", "bfloat16": "bf16", "even_odd_blocks": "bf16", "pairs": "bf16"}


def print_shares(report, title, what):
    """A line for each shape, a column for each storage, and PyTorch by the rows of RIVALS."""
    rows = rows_of(report, what)
    storages = list(dict.fromkeys(row["storage"] for row in rows if row["storage"] != "all"))
    rivals = [storage for storage in storages if storage in RIVALS]
    lines = []
    for shape in dict.fromkeys(row["shape"] for row in rows):
        found = {row["storage"]: row for row in rows if row["shape"] == shape}
        line = [shape] + [share_cell(found.get(storage)) for storage in storages]
        line += [torch_cell(found[storage], RIVALS[storage]) if storage in found else "" for storage in rivals]
        lines.append(line)
    print_table(title, ["shape", *storages, *(f"torch {RIVALS[storage]} by {storage}" for storage in rivals)], lines)


def print_ops(report):
    lines = [[row["shape"], row["storage"], row["op"], f"{row['calls']:.0f}", f"{100 * row['share_of_step']:.1f} %"]
             for row in report["rows"] if "op" in row]
    print_table("Ops of a step", ["step", "storage", "op", "calls", "share"], lines)


def print_elements(report):
    """The other ops of a step, each alone: times, and shares of what a triad moves."""
    lines = [[row["shape"], row["storage"], time_cell(row), share_cell(row)] for row in rows_of(report, "element")]
    print_table("Ops alone", ["op", "storage", "time", "share of triad"], lines)


def print_others(report):
    rows = [row for what in ("adamw", "open") for row in rows_of(report, what)]
    lines = [[row["what"], row["shape"], time_cell(row), share_cell(row), torch_cell(row, "eager"), row["note"]] for row in rows]
    lines += [[row["what"], row["shape"], row["storage"], "", "", row["note"]] for row in rows_of(report, "memory")]
    print_table("Others", ["what", "shape", "time", "share", "torch eager by ours", "note"], lines)


def print_missing(report):
    lines = [[row["what"], row["shape"], row["storage"], row["note"]] for row in report["rows"] if row["rounds"] == 0]
    reasons = {(row["what"], row["shape"], WAYS[way], answer["why"])
               for row in report["rows"] for way, answer in row["torch"].items() if "why" in answer}
    lines += [[what, shape, f"PyTorch, {way}", why] for what, shape, way, why in sorted(reasons)]
    print_table("Not measured", ["what", "shape", "which", "why"], lines)


def print_head(report):
    machine, torch = report["machine"], report["torch"]
    print(f"Machine: {machine['features']}; {machine['cpus']} CPUs (the first core: {machine['siblings']}), {machine['threads']} "
          f"threads; {machine['caches']}; {1e-9 * machine['memory']:.0f} GB; {machine['name']}; load before: {machine['load']:.1f}")
    print(f"Peak ({machine['peak']}): {1e-9 * machine['peak_one_thread']:.0f} GFLOP/s of one thread, "
          f"{1e-9 * machine['peak_all_threads']:.0f} of all; triad {1e-9 * machine['triad_one_thread']:.0f} and "
          f"{1e-9 * machine['triad_all_threads']:.0f} GB/s")
    for engine in machine["engines"]:
        print(f"Peak ({engine['instruction']}): {1e-9 * engine['peak_one_thread']:.0f} GFLOP/s of one thread, "
              f"{1e-9 * engine['peak_all_threads']:.0f} of all")
    print(f"Code: {report['commit']}, kernels {machine['kernels']}, {report['date']}, {report['seconds'] / 60:.1f} minutes; "
          f"PyTorch: {torch['version'] + ', ' + torch['capability'] if torch else 'none'}")
    print(f"Command: {' '.join(report['command'])}")


def main(words):
    names = [word for word in words if word != "--check"]
    name = names[0] if names else "build/bench/report.json"
    try:
        with open(name) as file:
            report = json.load(file)
    except (OSError, ValueError) as why:
        sys.exit(f"{name}: cannot be read: {getattr(why, 'strerror', None) or why}; `make bench` writes build/bench/report.json")
    check(report)
    if "--check" in words:
        return
    print_head(report)
    print_steps(report)
    for title, what in (("Products", "square"), ("Attention, forward", "attention forward"), ("Attention, backward", "attention backward"),
                        ("Products of a GPT-2 block, 256 tokens", "block 256"), ("Products of a GPT-2 block, 1,024 tokens", "block 1024"),
                        ("Products of batches", "matmul"), ("Convolutions", "conv"), ("LSTM, forward", "lstm forward"),
                        ("LSTM, backward", "lstm backward")):
        print_shares(report, title, what)
    print_elements(report)
    print_others(report)
    print_ops(report)
    print_missing(report)


main(sys.argv[1:])
