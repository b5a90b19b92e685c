"""A small grammar of English and German: sentences of both languages from one meaning.

German has what a word-by-word translation misses: three genders, four endings of an article, adjectives that agree,
verbs that agree and change their vowel, the verb in second place, participles, infinitives and prefixes at the end,
the verb last after "weil". Time comes first in German: "Heute scheint die Sonne".
"""

from dataclasses import dataclass

from lamina._errors import choice

MASCULINE, FEMININE, NEUTER, PLURAL = "m", "f", "n", "p"
SINGULAR_FIRST, SINGULAR, PLURAL_FIRST, PLURAL_THIRD = "1s", "3s", "1p", "3p"

_THE = {"nom": ("der", "die", "das", "die"), "acc": ("den", "die", "das", "die"), "dat": ("dem", "der", "dem", "den")}
_A = {"nom": ("ein", "eine", "ein"), "acc": ("einen", "eine", "ein")}
_STRONG = {"nom": ("er", "e", "es"), "acc": ("en", "e", "es")}  # adjectives after ein and kein
_WEAK = {"nom": ("e", "e", "e", "en"), "acc": ("en", "e", "e", "en"), "dat": ("en", "en", "en", "en")}  # after der
_GENDERS = MASCULINE + FEMININE + NEUTER + PLURAL
_BE = {"1s": "am", "3s": "is", "1p": "are", "3p": "are"}


@dataclass(frozen=True)
class Noun:
    """A noun in both languages; `other` is the German singular of the accusative and dative where it differs."""

    english: str
    english_plural: str
    german: str
    gender: str
    german_plural: str
    kind: str
    other: str = ""
    dative_plural: str = ""


@dataclass(frozen=True)
class Verb:
    """A verb in both languages; `simple` ones have no form in -ing, `prefix` stands at the end of a German clause."""

    english: str
    third: str
    ing: str
    past: str
    german: str
    first: str
    er: str
    participle: str
    auxiliary: str = "haben"
    prefix: str = ""
    case: str = "acc"
    simple: bool = False

    def finite(self, person: str) -> str:
        """Give the German form of the present, without a prefix."""
        plural = self.german.removeprefix(self.prefix)
        return {"1s": self.first, "3s": self.er}.get(person, plural)


@dataclass(frozen=True)
class Phrase:
    """A noun phrase or pronoun: what is said in both languages, its person, and whether it is definite.

    German has a form for each case.
    """

    english: str
    german: dict[str, str]
    person: str
    definite: bool = True


@dataclass(frozen=True)
class Adverbial:
    """A time or a place."""

    english: str
    german: str


@dataclass(frozen=True)
class Clause:
    """What a sentence means."""

    subject: Phrase
    verb: Verb
    tense: str = "present"
    object: Phrase | None = None
    time: Adverbial | None = None
    place: Adverbial | None = None
    negative: bool = False


_AUXILIARIES = {
    "haben": ("habe", "hat", "haben"),
    "sein": ("bin", "ist", "sind"),
    "werden": ("werde", "wird", "werden"),
    "can": ("kann", "kann", "können"),
    "must": ("muss", "muss", "müssen"),
    "want": ("will", "will", "wollen"),
}


def noun_phrase(noun: Noun, adjective: tuple[str, str] | None = None, article: str = "the") -> Phrase:
    """Put an article and perhaps an adjective (English, German) before a noun."""
    choice("article", article, ("the", "a", "the ones"))
    plural, definite = article == "the ones", article != "a"
    words = [*([adjective[0]] if adjective else []), noun.english_plural if plural else noun.english]
    first = "the" if definite else "an" if words[0][0] in "aeiou" else "a"
    german = {case: _german_phrase(noun, adjective, case, definite, plural) for case in (_THE if definite else _A)}
    return Phrase(" ".join([first, *words]), german, PLURAL_THIRD if plural else SINGULAR, definite)


def _german_phrase(noun: Noun, adjective: tuple[str, str] | None, case: str, definite: bool, plural: bool) -> str:
    place = _GENDERS.index(PLURAL if plural else noun.gender)
    articles, endings = (_THE, _WEAK) if definite else (_A, _STRONG)
    described = [adjective[1] + endings[case][place]] if adjective else []
    if plural:
        word = (noun.dative_plural or noun.german_plural) if case == "dat" else noun.german_plural
    else:
        word = noun.german if case == "nom" else noun.other or noun.german
    return " ".join([articles[case][place], *described, word])


def english(clause: Clause) -> str:
    """Give the words of an English clause."""
    return _spaced(clause.subject.english, *_english_verb(clause), *_english_rest(clause))


def english_question(clause: Clause, word: str = "") -> str:
    """Give the words of an English question, perhaps after a word such as "where"."""
    verb, person = clause.verb, clause.subject.person
    if clause.tense == "past":
        front, rest = "did", verb.english
    elif clause.tense == "future":
        front, rest = "will", verb.english
    elif clause.tense in ("can", "must"):
        front, rest = clause.tense, verb.english
    elif verb.simple:
        front, rest = "does" if person == SINGULAR else "do", verb.english
    else:
        front, rest = _BE[person], verb.ing
    return _spaced(word, front, clause.subject.english, rest, *_english_rest(clause))


def _english_verb(clause: Clause) -> list[str]:
    verb, person, no = clause.verb, clause.subject.person, clause.negative
    does = "does" if person == SINGULAR else "do"
    if clause.tense == "past":
        return ["did", "not", verb.english] if no else [verb.past]
    if clause.tense == "future":
        return ["will", "not" if no else "", verb.english]
    if clause.tense == "want":
        return [does, "not", "want", "to", verb.english] if no else [_s("want", person), "to", verb.english]
    if clause.tense in ("can", "must"):
        return ["cannot" if no else clause.tense, verb.english]
    if verb.simple:
        return [does, "not", verb.english] if no else [verb.third if person == SINGULAR else verb.english]
    return [_BE[person], "not" if no else "", verb.ing]


def _s(verb: str, person: str) -> str:
    return verb + "s" * (person == SINGULAR)


def _english_rest(clause: Clause) -> list[str]:
    what = "" if clause.object is None else clause.object.english
    where, when = ("" if part is None else part.english for part in (clause.place, clause.time))
    return [what, where, when]


def german(clause: Clause) -> str:
    """Give the words of a German main clause: time first if there is one, the verb in second place."""
    finite, final = _german_verb(clause)
    subject, middle = clause.subject.german["nom"], _german_middle(clause)
    if clause.time is None:
        return _spaced(subject, finite, *middle, final)
    return _spaced(clause.time.german, finite, subject, *middle, final)


def german_question(clause: Clause, word: str = "") -> str:
    """Give the words of a German question: the verb first, or second after a word such as "wo"."""
    finite, final = _german_verb(clause)
    when = "" if clause.time is None else clause.time.german
    return _spaced(word, finite, clause.subject.german["nom"], when, *_german_middle(clause), final)


def german_subordinate(clause: Clause) -> str:
    """Give the words of a German clause after "weil": the verb comes last, its prefix is joined to it."""
    finite, final = _german_verb(clause)
    last = final + finite if final and clause.verb.prefix == final else _spaced(final, finite)
    return _spaced(clause.subject.german["nom"], *_german_middle(clause), last)


def _german_verb(clause: Clause) -> tuple[str, str]:
    """Give the part in second place and the part at the end."""
    verb, person = clause.verb, clause.subject.person
    if clause.tense == "present":
        return verb.finite(person), verb.prefix
    if clause.tense == "past":
        return _auxiliary(verb.auxiliary, person), verb.participle
    return _auxiliary("werden" if clause.tense == "future" else clause.tense, person), verb.german


def _auxiliary(name: str, person: str) -> str:
    first, third, plural = _AUXILIARIES[name]
    return {"1s": first, "3s": third}.get(person, plural)


def _german_middle(clause: Clause) -> list[str]:
    """Give object, negation and place; what is indefinite is denied with "kein"."""
    what, where = clause.object, "" if clause.place is None else clause.place.german
    spoken = "" if what is None else what.german[clause.verb.case]
    if clause.negative and what is not None and not what.definite:
        return ["k" + spoken, where]
    return [spoken, "nicht" if clause.negative else "", where]


def _spaced(*words: str) -> str:
    return " ".join(word for word in words if word)
