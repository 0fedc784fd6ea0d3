"""Places in C++ sources where a small mistake can be put, found in the tokens alone.

There is no parser: binary operators are told by the spaces that clang-format puts around them, and a mutant that does
not compile is dropped by the caller. Every replacement keeps the original text as one branch of a run-time switch.
"""
import dataclasses
import re

TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<line>^[ \t]*\#(?:[^\n\\]|\\.)*)'
    r'|(?P<text>(?:u8|u|U|L)?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\')'
    r"|(?P<number>\.?\d(?:[eEpP][+-]|[\w.]|'\d)*)|(?P<word>[A-Za-z_]\w*)"
    r'|(?P<sign><=>|->\*|<<=|>>=|\.\.\.|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\S)|(?P<space>\s+)',
    re.S | re.M)

PRECEDENCE = {"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 6, ">": 6, "<=": 6, ">=": 6,
              "==": 5, "!=": 5, "&": 4, "^": 3, "|": 2, "&&": 1, "||": 0}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
OPENERS, CLOSERS = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
STOPS = {";", ",", "?", ":", "return", "throw", "case", "else", "do", "co_return", "requires"} | ASSIGNMENTS
STATEMENT_WORDS = {"return", "throw", "using", "case", "default", "if", "for", "while", "do", "switch", "goto", "try",
                   "delete", "else", "namespace", "static_assert", "template", "public", "private", "new", "operator"}
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
# Calls whose arguments only form the text of an error or a remark.
MESSAGE = re.compile(r"fail|fail_\w+|\w+_fail|refuse|refuse_\w+|failure|remark|format|\w*Error")
KINDS = ["comparison", "logic", "arithmetic", "condition", "statement", "constant", "swap"]


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    start: int
    line: int
    spaced: bool = False  # white space on both sides

    @property
    def end(self):
        return self.start + len(self.text)


@dataclasses.dataclass(frozen=True)
class Place:
    """One mutation: source[start:end] becomes `template`; `what` says it to people."""
    file: str
    line: int
    kind: str
    start: int
    end: int
    template: str  # with @ for the switch
    what: str

    @property
    def layer(self):
        return self.file.split("/")[1]

    def key(self):
        return f"{self.file}:{self.line}:{self.start}:{self.end}:{self.template}"


def tokens_of(source):
    list_, line, after_space = [], 1, True
    for m in TOKEN.finditer(source):
        kind, text = m.lastgroup, m[0]
        kind = "text" if kind == "mark" else kind
        if kind in ("space", "comment", "line"):
            if list_ and not after_space:
                list_[-1].spaced = list_[-1].spaced is None
            after_space = True
        else:
            if list_ and not after_space:
                list_[-1].spaced = False
            # None: there is space before it, and the next character decides.
            list_.append(Token(kind, text, m.start(), line, None if after_space else False))
            after_space = False
        line += text.count("\n")
    return list_


class Source:
    """The tokens of a file with their brackets matched."""

    def __init__(self, file, text):
        self.file, self.text = file, text
        self.tokens = tokens_of(text)
        self.match, self.outer = {}, [None] * len(self.tokens)
        stack, message = [], 0
        self.silent = [False] * len(self.tokens)  # inside the arguments of a message
        for i, t in enumerate(self.tokens):
            if t.text in CLOSERS and t.kind == "sign" and stack:
                opener, was = stack.pop()
                self.match[i], self.match[opener], message = opener, i, was
            self.outer[i] = stack[-1][0] if stack else None
            self.silent[i] = message > 0
            if t.text in OPENERS and t.kind == "sign":
                stack.append((i, message))
                if t.text == "(" and i and self.tokens[i - 1].kind == "word" and MESSAGE.fullmatch(self.at(i - 1)):
                    message += 1

    def at(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def piece(self, i, j):
        """The text of tokens i to j, both included."""
        return self.text[self.tokens[i].start:self.tokens[j].end]

    def is_binary(self, i):
        return self.tokens[i].kind == "sign" and bool(self.tokens[i].spaced) and self.at(i) in PRECEDENCE

    def operands(self, i):
        """First and last token of the expression around the binary operator i, or none."""
        bound, left, right = PRECEDENCE[self.at(i)], i - 1, i + 1
        while left >= 0:
            text = self.at(left)
            if text in CLOSERS:
                if text == "}" and self.tokens[self.match.get(left, left)].spaced is not False:
                    break
                left = self.match.get(left, -1)
            elif text in OPENERS or text in STOPS or self.is_binary(left) and PRECEDENCE[text] < bound:
                break
            left -= 1
        while right < len(self.tokens):
            text = self.at(right)
            if text in OPENERS:
                right = self.match.get(right, len(self.tokens))
            elif text in CLOSERS or text in STOPS or self.is_binary(right) and PRECEDENCE[text] <= bound:
                break
            right += 1
        return (left + 1, right - 1) if left + 1 < i < right - 1 else None

    def place(self, kind, i, j, template, what, line=None):
        """Lines keep their numbers: a template has as many line ends as what it replaces."""
        start, end = self.tokens[i].start, self.tokens[j].end
        return Place(self.file, line or self.tokens[i].line, kind, start, end, template, shortened(what))


def shortened(text, limit=90):
    text = " ".join(text.split())
    return text if len(text) <= limit else text[:limit - 3] + "..."


def flat(text):
    """On one line; there are no comments in what is copied (see `places`)."""
    return " ".join(text.split("\n"))


def operator_places(s):
    for i in range(len(s.tokens)):
        op = s.at(i)
        if s.silent[i] or not s.is_binary(i):
            continue
        kind, other = ("comparison", COMPARISONS[op]) if op in COMPARISONS else (
            ("logic", "||" if op == "&&" else "&&") if op in ("&&", "||") else (
                ("arithmetic", "-" if op == "+" else "+") if op in ("+", "-") else (None, None)))
        extent = s.operands(i) if kind else None
        if not extent:
            continue
        a, b = extent
        left, right = s.piece(a, i - 1), s.piece(i + 1, b)
        if op == "&&" and a == i - 1 and s.at(i - 2) in ("auto", "const"):
            continue
        yield s.place(kind, a, b, f"(@ ? ({flat(left)} {other} {flat(right)}) : ({s.piece(a, b)}))",
                      f"{left} {op} {right} -> {left} {other} {right}", s.tokens[i].line)


def condition_places(s):
    for i in range(len(s.tokens)):
        if s.silent[i]:
            continue
        if s.at(i) == "if" and s.at(i + 1) == "(" and i + 1 in s.match:
            first, last = i + 2, s.match[i + 1] - 1
            for j in range(first, last):  # an initialiser comes before the condition
                if s.at(j) == ";" and s.outer[j] == i + 1:
                    first = j + 1
            text = s.piece(first, last)
            yield s.place("condition", first, last, f"(@ ? !({flat(text)}) : bool({text}))", f"if ({text}) negated")
        elif s.at(i) == "!" and s.tokens[i].kind == "sign" and s.tokens[i + 1].kind == "word":
            j = i + 1
            while s.at(j + 1) in ("::", ".", "->", "(", "["):
                j = s.match.get(j + 1, j + 2)
            text = s.piece(i + 1, j)
            yield s.place("condition", i, j, f"(@ ? bool({flat(text)}) : !{text})", f"!{text} -> {text}")


def is_call_or_assignment(s, i):
    """Whether what starts at token i is an expression, not a declaration."""
    if s.at(i) in ("++", "--"):
        return True
    if s.at(i) == "*":
        i += 1
    if s.tokens[i].kind != "word" or s.at(i) in STATEMENT_WORDS:
        return False
    while s.at(i + 1) == "::" and s.tokens[i + 2].kind == "word":
        i += 2
    return s.at(i + 1) in {"(", ".", "->", "[", "++", "--"} | ASSIGNMENTS


def statement_places(s):
    for i in range(1, len(s.tokens)):
        before, outer = s.at(i - 1), s.outer[i]
        if s.silent[i] or outer is None or s.at(outer) != "{" or before not in (";", "{", "}", ")", "else"):
            continue
        under = before == ")" and s.at(s.match.get(i - 1, 0) - 1) in ("if", "for", "while")
        if before == ")" and not under or before == "{" and i - 1 != outer:
            continue
        end = i
        while end < len(s.tokens) and s.at(end) != ";":
            if s.at(end) in CLOSERS:
                end = len(s.tokens)
                break
            end = s.match[end] + 1 if s.at(end) in OPENERS and end in s.match else end + 1
        if end >= len(s.tokens):
            continue
        text, word = s.piece(i, end), s.at(i)
        early = word == "return" and s.at(end + 1) != "else" and under and \
            s.at(s.match[i - 1] - 1) == "if" and s.at(end + 1) != "}"
        if word in ("continue", "break") or early or is_call_or_assignment(s, i):
            yield s.place("statement", i, end, "{ if (!@) " + text + " }", f"{text} removed")
            for j in range(i, end):
                if s.at(j) in ("+=", "-=") and s.outer[j] == outer:
                    other = "-=" if s.at(j) == "+=" else "+="
                    changed = f"{s.piece(i, j - 1)} {other} {s.piece(j + 1, end)}"
                    yield s.place("arithmetic", i, end, "{ if (@) " + flat(changed) + " else " + text + " }",
                                  f"{text} -> {changed}")


def constant_places(s):
    for i, t in enumerate(s.tokens):
        if s.silent[i] or s.at(i - 1) == "<" and not s.tokens[i - 1].spaced:
            continue
        if t.text == "true":
            yield s.place("constant", i, i, "!@", "true -> false")
        elif t.text == "false":
            yield s.place("constant", i, i, "@", "false -> true")
        elif t.kind == "number" and (m := re.fullmatch(r"(\d+)([uUlL]*)", t.text)):
            values = [int(m[1]) + 1] + ([int(m[1]) - 1] if int(m[1]) > 0 else [])
            for v in values:
                new = f"{v}{m[2]}"
                around = s.text[max(s.text.rfind("\n", 0, t.start) + 1, t.start - 30):t.end + 10].split("\n")[0]
                yield s.place("constant", i, i, f"(@ ? {new} : {t.text})", f"{t.text} -> {new} in {around.strip()}")


def swap_places(s):
    for i in range(len(s.tokens)):
        if s.silent[i] or s.at(i) != "(" or i not in s.match or s.tokens[i - 1].kind != "word":
            continue
        last, first = s.match[i], i - 1
        while s.at(first - 1) in ("::", ".", "->") and s.tokens[first - 2].kind == "word":
            first -= 2
        previous = s.tokens[first - 1]
        if previous.kind == "word" and previous.text != "return" or previous.text in (">", "&", "*", "~", "]", ")"):
            continue
        call = s.piece(first, last)
        if s.at(i - 1) in ("min", "max") and s.at(first) == "std":
            name = s.piece(first, i - 1)
            other = name[:-3] + ("max" if name.endswith("min") else "min")
            yield s.place("swap", first, last, f"(@ ? {other}{flat(s.piece(i, last))} : {call})", f"{name} -> {other}")
            continue
        commas = [j for j in range(i + 1, last) if s.at(j) == "," and s.outer[j] == i]
        plain = all(t.kind == "word" or t.text in (".", ",") for t in s.tokens[i + 1:last])
        if len(commas) == 1 and plain and not any(s.tokens[j].kind == s.tokens[j + 1].kind == "word"
                                                  for j in range(i + 1, last)):
            a, b = s.piece(i + 1, commas[0] - 1), s.piece(commas[0] + 1, last - 1)
            changed = f"{s.piece(first, i)}{b}, {a})"
            yield s.place("swap", first, last, f"(@ ? {flat(changed)} : {call})", f"{call} -> {changed}")


def places(file, text):
    """All places of a file, in order."""
    s = Source(file, text)
    found = [p for find in (operator_places, condition_places, statement_places, constant_places, swap_places)
             for p in find(s)]
    # Copied source must not contain a comment, which would end the line. Nor a raw string, nor the
    # placeholder of the switch.
    clean = [p for p in found if p.end - p.start < 600
             and not any(mark in text[p.start:p.end] for mark in ("//", "/*", 'R"', "@"))]
    return sorted(clean, key=lambda p: (p.start, p.end, p.template))
