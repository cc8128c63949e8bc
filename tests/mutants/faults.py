"""The small faults that can be planted on a line, each as edits of the text.

A fault is (kind, line, edits); an edit is (start, end, text), and no edit adds or removes a line."""
import re
from collections import namedtuple

from c_source import KEYWORDS, PRECEDENCE, Source

Fault = namedtuple("Fault", "kind line edits")

OPERATORS = {"+": "-", "-": "+", "*": "/+", "/": "*%", "%": "/*", "&": "|", "|": "&", "^": "&", "<<": [">>"], ">>": ["<<"],
             "<": [">", ">="], ">": ["<", "<="], "<=": [">=", ">"], ">=": ["<=", "<"], "==": ["!="], "!=": ["=="],
             "&&": ["||"], "||": ["&&"], "++": ["--"], "--": ["++"], "+=": ["-=", "="], "-=": ["+=", "="],
             "*=": ["/=", "="], "/=": ["*="], "%=": ["/="], "&=": ["|=", "="], "|=": ["&=", "="], "^=": ["|="],
             "<<=": [">>="], ">>=": ["<<="]}
BOUNDS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
SWAPPED = {"-", "/", "%", "<", ">", "<<", ">>"}
INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|[1-9][0-9]*|0)([uUlL]*)$")
FLOAT = re.compile(r"(0[xX][0-9a-fA-F.]+[pP][-+]?[0-9]+|[0-9]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?)([fFlL]?)$")
NAMED = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")


def edit(source, i, text):
    """Replaces token i."""
    token = source.tokens[i]
    return token.start, token.end, text


def around(source, first, behind, before, after):
    """Puts text before token `first` and before token `behind`."""
    end = source.tokens[behind - 1].end
    return [(source.tokens[first].start, source.tokens[first].start, before), (end, end, after)]


# --- operators and constants ---

def operator_faults(source, i):
    word = source.words[i]
    if word not in OPERATORS or word in PRECEDENCE and not source.is_binary(i):
        return
    for other in OPERATORS[word]:
        yield "operator", [edit(source, i, other)]
    if word in BOUNDS:
        yield "off by one", [edit(source, i, BOUNDS[word])]


def other_constants(word):
    """What may stand in the place of a number."""
    whole, real = INTEGER.match(word), FLOAT.match(word)
    if whole:
        digits, suffix = whole.groups()
        value = int(digits, 0)
        form = "0x{:x}" if digits[:2] in ("0x", "0X") else "{}"
        return [form.format(n) + suffix for n in sorted({0, 1, value - 1, value + 1} - {value, -1})]
    if real and real.group(1):
        suffix = real.group(2)
        return ["0.0" + suffix, "1.0" + suffix, f"(-{word})", f"({word} * 1.001{suffix})"]
    return []


def constant_faults(source, i):
    token = source.tokens[i]
    if i in source.sizes:
        return
    if token.kind == "number":
        for other in other_constants(token.text):
            yield "constant", [edit(source, i, other)]
    elif token.text in ("true", "false"):
        yield "constant", [edit(source, i, "false" if token.text == "true" else "true")]
    elif token.kind == "name" and NAMED.match(token.text) and source.word(i + 1) != "(":
        for other in "+-":
            yield "constant", [edit(source, i, f"({token.text} {other} 1)")]


def index_faults(source, i):
    if source.words[i] != "[" or not source.ends_operand(i - 1) or i not in source.partner or source.declares(i):
        return
    for other in "+-":
        yield "off by one", around(source, i + 1, source.partner[i], "(", f") {other} 1")


# --- conditions and statements ---

def clause_of(source, i):
    """The condition of the keyword i, as its first token and the token behind it; None if it has none."""
    close = source.partner.get(i + 1) if source.words[i] in ("if", "while", "for") else None
    if close is None:
        return None
    if source.word(i) != "for":
        return i + 2, close
    ends = [j for j in range(i + 2, close) if source.word(j) == ";"]
    return (ends[0] + 1, ends[1]) if len(ends) == 2 and ends[0] + 1 < ends[1] else None


def leaves(source, i):
    """Whether the statement that begins with token i is a return or a goto, also in braces."""
    return source.word(i + 1 if source.word(i) == "{" else i) in ("return", "goto")


def condition_faults(source, i):
    if source.words[i] == "?":
        first, behind = source.left_operand(i, 0), i
    else:
        clause = clause_of(source, i)
        if clause is None:
            return
        first, behind = clause
    if first >= behind:
        return
    for before, after in (("!(", ")"), ("1 || (", ")"), ("0 && (", ")")):
        yield "condition", around(source, first, behind, before, after)
    if source.word(i) == "if" and leaves(source, behind + 1):
        yield "removed check", around(source, first, behind, "(", ") && 0")


def call_faults(source, i):
    """The statement that is a call, removed; two arguments that are next to each other, swapped."""
    is_name = source.tokens[i].kind == "name" and source.words[i] not in KEYWORDS
    if not is_name or source.word(i + 1) != "(" or i + 1 not in source.partner:
        return
    close = source.partner[i + 1]
    first = i - 3 if [source.word(i - n) for n in (3, 2, 1)] == ["(", "void", ")"] else i
    if source.word(close + 1) == ";" and source.starts_statement(first):
        removed = source.slice(first, close + 1)
        yield "removed call", [(source.tokens[first].start, source.tokens[close].end, "\n" * removed.count("\n"))]
    given = source.arguments(i + 1)
    for left, right in zip(given, given[1:]):
        yield from swap(source, "swapped arguments", left, right)


def swap(source, kind, left, right):
    """Two runs of tokens in each other's place, unless they are equal or extend over lines."""
    a, b = source.slice(*left), source.slice(*right)
    if a != b and "\n" not in a + b and left[0] < left[1] and right[0] < right[1]:
        yield kind, [(source.tokens[left[0]].start, source.tokens[left[1] - 1].end, b),
                     (source.tokens[right[0]].start, source.tokens[right[1] - 1].end, a)]


def operand_faults(source, i):
    if source.words[i] in SWAPPED and source.is_binary(i):
        precedence = PRECEDENCE[source.word(i)]
        left, right = source.left_operand(i, precedence), source.right_operand(i, precedence)
        if left < i and i + 1 < right:
            yield from swap(source, "swapped operands", (left, i), (i + 1, right))


C_FAULTS = (operator_faults, constant_faults, index_faults, condition_faults, call_faults, operand_faults)


def faults_of_c(text, types):
    """Every fault of a C source, in the order of its tokens."""
    source = Source(text, types)
    for i, token in enumerate(source.tokens):
        if i in source.code:
            for make in C_FAULTS:
                for kind, edits in make(source, i):
                    yield Fault(kind, token.line, tuple(edits))
        elif i in source.enumerators:
            for kind, edits in constant_faults(source, i):
                if token.kind == "number":
                    yield Fault(kind, token.line, tuple(edits))


# --- the table of ops ---

ROW = re.compile(r"^FIRN_OP\(.*?\)\n(?=\n|FIRN_OP|/\*|#|\Z)", re.MULTILINE | re.DOTALL)
COLUMN = re.compile(r"\.(inputs|outputs|integers|reals) = \"([^\"]*)\"")
OPERAND = re.compile(r"(\w+):([@\w|]+)")


def faults_of_ops(text):
    """Names or types of two operands of a row, or names of two attributes, swapped."""
    for row in ROW.finditer(text):
        groups = {"operand": [], "integers": [], "reals": []}
        for column in COLUMN.finditer(text, row.start(), row.end()):
            group = column.group(1) if column.group(1) in groups else "operand"
            groups[group] += OPERAND.finditer(text, column.start(2), column.end(2))
        for operands in groups.values():
            for n, a in enumerate(operands):
                for b in operands[n + 1:]:
                    yield from operands_swapped(text, a, b)


def operands_swapped(text, a, b):
    line = text.count("\n", 0, a.start()) + 1
    for group, kind in ((1, "operand name"), (2, "operand type")):
        if a.group(group) != b.group(group):
            yield Fault(kind, line, ((a.start(group), a.end(group), b.group(group)),
                                     (b.start(group), b.end(group), a.group(group))))


def planted(text, fault):
    """The text with the fault."""
    for start, end, new in sorted(fault.edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def change(text, fault):
    """The lines that a fault changes, before and after, each as one line."""
    after = planted(text, fault)
    pairs = [(a, b) for a, b in zip(text.split("\n"), after.split("\n")) if a != b]
    return tuple(" ".join(filter(None, map(str.strip, lines))) for lines in zip(*pairs)) if pairs else ("", "")
