"""The tokens of a C source, and which of them are code: what stands in a function's body or in an initialiser."""
import re
from collections import namedtuple

Token = namedtuple("Token", "kind text start end line")

PATTERN = re.compile(r"""
    (?P<space>[ \t\r\n\f\v]+|//(?:[^\n\\]|\\.)*|/\*.*?\*/)
  | (?P<preprocessor>\#(?:/\*.*?\*/|[^\n\\]|\\.)*)
  | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|[uUL]?'(?:[^'\\\n]|\\.)*')
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>\.?[0-9](?:[eEpP][-+]|[\w.])*)
  | (?P<punctuator><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.VERBOSE | re.DOTALL)

KEYWORDS = set("""auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Alignas
_Alignof _Bool _Generic _Noreturn _Static_assert _Thread_local""".split())
TYPE_WORDS = set("""auto bool char const double enum extern float inline int long register short signed static struct
union unsigned void volatile _Bool _Thread_local FILE size_t""".split())
CONTROLS = {"if", "while", "for", "switch"}
PRECEDENCE = {"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, ">": 7, "<=": 7, ">=": 7, "==": 6,
              "!=": 6, "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
BRACKETS = {")": "(", "]": "[", "}": "{"}


def types_declared(texts):
    """The names that the sources declare as types. Other types end with _t or are words of the language."""
    names = set()
    for text in texts:
        names.update(re.findall(r"typedef\s+[^;{}()]*?\b(\w+)\s*;", text))
        names.update(re.findall(r"^\}\s*(\w+)\s*;", text, re.MULTILINE))
        names.update(re.findall(r"typedef\s+[^;{}]*?\(\s*\*?\s*(\w+)\s*\)\s*\(", text))
    return names


def tokens_of(text):
    """Every token but comments and space."""
    line, tokens = 1, []
    for match in PATTERN.finditer(text):
        if match.lastgroup != "space":
            tokens.append(Token(match.lastgroup, match.group(), match.start(), match.end(), line))
        line += match.group().count("\n")
    return tokens


class Source:
    """A C source: its text, its tokens without preprocessor lines, and which bracket closes which."""

    def __init__(self, text, types=frozenset()):
        self.text = text
        self.types = types
        self.tokens = [t for t in tokens_of(text) if t.kind != "preprocessor"]
        self.words = [t.text for t in self.tokens]
        self.partner = self.match_brackets()
        self.code, self.enumerators = self.find_code()
        self.sizes = self.find_sizes()

    def word(self, i):
        """The text of token i, or nothing beyond the ends."""
        return self.words[i] if 0 <= i < len(self.words) else ""

    def match_brackets(self):
        """The index of the other bracket for each bracket. A bracket that an #else doubles has none."""
        partner, opened = {}, []
        for i, token in enumerate(self.tokens):
            if token.text in BRACKETS.values():
                opened.append(i)
            elif token.text in BRACKETS:
                while opened and self.word(opened[-1]) != BRACKETS[token.text]:
                    opened.pop()
                if opened:
                    partner[i] = opened.pop()
                    partner[partner[i]] = i
        return partner

    def find_code(self):
        """Two sets of indices: tokens of bodies and initialisers, and tokens of enumerators."""
        code, enumerators, i, is_enum, after_equals = set(), set(), 0, False, False
        while i < len(self.tokens):
            word = self.word(i)
            if word == "{":
                end = self.partner.get(i, i)
                if self.word(i - 1) == ")" or after_equals:
                    code.update(range(i, end + 1))
                elif is_enum:
                    enumerators.update(range(i, end + 1))
                i = end
            elif after_equals and word != ";":
                code.add(i)
            if word in (";", "}", "{"):
                is_enum = False
            if word in (";", "{"):
                after_equals = False
            is_enum |= word == "enum"
            after_equals |= word == "="
            i += 1
        return code, enumerators

    def is_type(self, i):
        word = self.word(i)
        return word in TYPE_WORDS or word in self.types or word.endswith("_t")

    def is_cast(self, close):
        """Whether the parentheses that end at `close` hold a type alone."""
        start = self.partner.get(close)
        if start is None or start + 1 == close or self.word(start - 1) == "sizeof":
            return False
        inner = range(start + 1, close)
        return self.is_type(start + 1) and all(self.tokens[i].kind == "name" or self.word(i) in "*[]" for i in inner)

    def ends_operand(self, i):
        """Whether an operand ends with token i, so that an operator that follows has two operands."""
        if i < 0:
            return False
        token = self.tokens[i]
        if token.kind in ("number", "string"):
            return True
        if token.kind == "name":
            return token.text not in KEYWORDS and not self.is_type(i)
        if token.text == ")":
            return not self.is_cast(i) and self.word(self.partner.get(i, 0) - 1) not in CONTROLS
        if token.text in ("++", "--"):
            return self.ends_operand(i - 1)
        return token.text == "]"

    def is_binary(self, i):
        """Whether token i is an operator with two operands."""
        word = self.word(i)
        return word in PRECEDENCE and (word not in ("+", "-", "*", "&") or self.ends_operand(i - 1))

    def ends_expression(self, i):
        token = self.tokens[i]
        return token.text in ASSIGNMENTS or token.text in ",;{}?:" or token.text in ("return", "case", "else", "do")

    def left_operand(self, i, precedence):
        """The index of the first token of the operand before token i."""
        j = i - 1
        while j >= 0:
            word = self.word(j)
            if word in (")", "]"):
                j = self.partner.get(j, 0)
            elif word in ("(", "[") or self.ends_expression(j) or self.is_binary(j) and PRECEDENCE[word] < precedence:
                break
            j -= 1
        return j + 1

    def right_operand(self, i, precedence):
        """The index behind the last token of the operand after token i."""
        j = i + 1
        while j < len(self.tokens):
            word = self.word(j)
            if word in ("(", "["):
                j = self.partner.get(j, len(self.tokens))
            elif word in (")", "]") or self.ends_expression(j) or self.is_binary(j) and PRECEDENCE[word] <= precedence:
                break
            j += 1
        return j

    def starts_statement(self, i):
        before = self.word(i - 1)
        if before == ")":
            return self.word(self.partner.get(i - 1, 0) - 1) in CONTROLS
        return before in (";", "{", "}", "else", "do")

    def declares(self, i):
        """Whether the bracket i belongs to the declarator of an array, not to an expression."""
        j = i - 1
        while j >= 0 and self.word(j) not in (";", "{", "}", "=", "("):
            j = self.partner.get(j, j) if self.word(j) in (")", "]") else j
            j -= 1
        return self.word(j) not in ("=", "(") and self.is_type(j + 1)

    def find_sizes(self):
        """The indices of the tokens that are part of the size of an array that is declared."""
        found = set()
        for i, word in enumerate(self.words):
            if word == "[" and i in self.code and i in self.partner and self.declares(i):
                found.update(range(i, self.partner[i]))
        return found

    def arguments(self, opening):
        """The pairs (first token, token behind the last) of the arguments of a call."""
        close = self.partner.get(opening, opening)
        found, first, i = [], opening + 1, opening + 1
        while i < close:
            if self.word(i) == ",":
                found.append((first, i))
                first = i + 1
            elif self.word(i) in ("(", "[", "{"):
                i = self.partner.get(i, i)
            i += 1
        return found + [(first, close)] if first < close else found

    def slice(self, first, behind):
        """The text from one token to before another."""
        return self.text[self.tokens[first].start:self.tokens[behind - 1].end]
