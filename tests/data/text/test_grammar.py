import pytest

from lamina.data.text._grammar import Clause, noun_phrase
from lamina.data.text._lexicon import LAKES, NOUNS, PLACES, PRONOUNS, TIMES, VERBS
from lamina.data.text.phrasebook import EXAMPLE, _statement, question, reason

I, HE, SHE, WE, THEY = PRONOUNS


OLD, SMALL, TIRED, NEW, RED = ("old", "alt"), ("small", "klein"), ("tired", "müd"), ("new", "neu"), ("red", "rot")


def the(name, adjective=None):
    return noun_phrase(NOUNS[name], adjective)


def a(name, adjective=None):
    return noun_phrase(NOUNS[name], adjective, "a")


def many(name, adjective=None):
    return noun_phrase(NOUNS[name], adjective, "the ones")


def say(subject, verb, tense="present", what=None, when=None, where=None, negative=False):
    return Clause(subject, VERBS[verb], tense, what, TIMES[when] if when else None, where, negative)


@pytest.mark.parametrize(
    ("phrase", "english", "nominative", "accusative", "dative"),
    [
        (the("man"), "the man", "der Mann", "den Mann", "dem Mann"),
        (the("woman", SMALL), "the small woman", "die kleine Frau", "die kleine Frau", "der kleinen Frau"),
        (the("child", TIRED), "the tired child", "das müde Kind", "das müde Kind", "dem müden Kind"),
        (the("boy"), "the boy", "der Junge", "den Jungen", "dem Jungen"),
        (many("man", TIRED), "the tired men", "die müden Männer", "die müden Männer", "den müden Männern"),
        (many("dog"), "the dogs", "die Hunde", "die Hunde", "den Hunden"),
        (many("girl"), "the girls", "die Mädchen", "die Mädchen", "den Mädchen"),
        (a("apple"), "an apple", "ein Apfel", "einen Apfel", None),
        (a("letter", OLD), "an old letter", "ein alter Brief", "einen alten Brief", None),
        (a("bag", RED), "a red bag", "eine rote Tasche", "eine rote Tasche", None),
        (a("car", NEW), "a new car", "ein neues Auto", "ein neues Auto", None),
        (a("boy", SMALL), "a small boy", "ein kleiner Junge", "einen kleinen Jungen", None),
    ],
)
def test_articles_genders_and_endings(phrase, english, nominative, accusative, dative):
    assert (phrase.english, phrase.german["nom"], phrase.german["acc"]) == (english, nominative, accusative)
    assert phrase.german.get("dat") == dative


@pytest.mark.parametrize(
    ("pair", "english", "german"),
    [
        (_statement(say(the("sun"), "shine", when="today")), *EXAMPLE),
        (_statement(say(the("sun"), "shine")), "The sun is shining", "Die Sonne scheint"),
        (_statement(say(I, "read", what=a("book"))), "I am reading a book", "Ich lese ein Buch"),
        (
            _statement(say(HE, "read", what=a("book"), when="now")),
            "He is reading a book now",
            "Jetzt liest er ein Buch",
        ),
        (_statement(say(SHE, "sleep")), "She is sleeping", "Sie schläft"),
        (_statement(say(THEY, "sleep")), "They are sleeping", "Sie schlafen"),
        (
            _statement(say(many("dog"), "sleep", where=PLACES[0], when="at the moment")),
            "The dogs are sleeping in the garden at the moment",
            "Im Moment schlafen die Hunde im Garten",
        ),
        (
            _statement(say(the("man"), "help", what=the("boy"))),
            "The man is helping the boy",
            "Der Mann hilft dem Jungen",
        ),
        (_statement(say(WE, "see", what=the("moon"))), "We see the moon", "Wir sehen den Mond"),
        (_statement(say(the("girl"), "see", what=the("moon"))), "The girl sees the moon", "Das Mädchen sieht den Mond"),
        # the past with haben and sein, the participle at the end
        (
            _statement(say(the("woman"), "buy", "past", the("car"), "yesterday")),
            "The woman bought the car yesterday",
            "Gestern hat die Frau das Auto gekauft",
        ),
        (
            _statement(say(WE, "swim", "past", when="last week", where=LAKES[0])),
            "We swam in the lake last week",
            "Letzte Woche sind wir im See geschwommen",
        ),
        # the future and modal verbs, the infinitive at the end
        (
            _statement(say(the("teacher"), "sell", "future", many("book"), "tomorrow")),
            "The teacher will sell the books tomorrow",
            "Morgen wird der Lehrer die Bücher verkaufen",
        ),
        (_statement(say(I, "work", "must", when="today")), "I must work today", "Heute muss ich arbeiten"),
        (
            _statement(say(the("child"), "eat", "want", a("egg"))),
            "The child wants to eat an egg",
            "Das Kind will ein Ei essen",
        ),
        # separable verbs
        (_statement(say(the("sun"), "rise", when="now")), "The sun is rising now", "Jetzt geht die Sonne auf"),
        (_statement(say(the("moon"), "set", "past")), "The moon set", "Der Mond ist untergegangen"),
        (_statement(say(the("sun"), "set", "future")), "The sun will set", "Die Sonne wird untergehen"),
        # denial: nicht after a definite object, before a place, kein for an indefinite object
        (
            _statement(say(the("boy"), "buy", what=the("bag"), negative=True)),
            "The boy is not buying the bag",
            "Der Junge kauft die Tasche nicht",
        ),
        (
            _statement(say(the("boy"), "buy", what=a("chair", RED), negative=True)),
            "The boy is not buying a red chair",
            "Der Junge kauft keinen roten Stuhl",
        ),
        (
            _statement(say(the("cat"), "sleep", where=PLACES[2], negative=True)),
            "The cat is not sleeping in the house",
            "Die Katze schläft nicht im Haus",
        ),
        (_statement(say(SHE, "dance", "can", negative=True)), "She cannot dance", "Sie kann nicht tanzen"),
        (
            _statement(say(I, "love", what=the("dog"), negative=True)),
            "I do not love the dog",
            "Ich liebe den Hund nicht",
        ),
        (
            _statement(say(HE, "love", what=the("dog"), negative=True)),
            "He does not love the dog",
            "Er liebt den Hund nicht",
        ),
        (
            _statement(say(the("sun"), "rise", "past", negative=True)),
            "The sun did not rise",
            "Die Sonne ist nicht aufgegangen",
        ),
        (
            _statement(say(WE, "sleep", "want", negative=True)),
            "We do not want to sleep",
            "Wir wollen nicht schlafen",
        ),
        # questions
        (question(say(the("sun"), "shine", when="today")), "Is the sun shining today?", "Scheint die Sonne heute?"),
        (question(say(the("sun"), "rise")), "Is the sun rising?", "Geht die Sonne auf?"),
        (question(say(I, "come", "must")), "Must I come?", "Muss ich kommen?"),
        (
            question(say(the("man"), "buy", "past", a("car"), "yesterday")),
            "Did the man buy a car yesterday?",
            "Hat der Mann gestern ein Auto gekauft?",
        ),
        (
            question(say(many("child"), "swim", "future", when="tomorrow")),
            "Will the children swim tomorrow?",
            "Werden die Kinder morgen schwimmen?",
        ),
        (question(say(THEY, "see", what=the("dog"))), "Do they see the dog?", "Sehen sie den Hund?"),
        (
            question(say(HE, "look for", when="now"), ("what", "was")),
            "What is he looking for now?",
            "Was sucht er jetzt?",
        ),
        (question(say(the("dog"), "wait"), ("why", "warum")), "Why is the dog waiting?", "Warum wartet der Hund?"),
        # the verb at the end
        (
            reason(say(the("child"), "laugh"), say(the("sun"), "rise")),
            "The child is laughing because the sun is rising",
            "Das Kind lacht, weil die Sonne aufgeht",
        ),
        (
            reason(say(WE, "wait"), say(I, "work")),
            "We are waiting because I am working",
            "Wir warten, weil ich arbeite",
        ),
    ],
)
def test_german_by_hand(pair, english, german):
    assert pair == (english, german)
