"""The words of the phrase book, English and German."""

from lamina.data.text._grammar import Adverbial, Noun, Phrase, Verb

_NOUNS = (
    Noun("man", "men", "Mann", "m", "Männer", "person", dative_plural="Männern"),
    Noun("woman", "women", "Frau", "f", "Frauen", "person"),
    Noun("child", "children", "Kind", "n", "Kinder", "person", dative_plural="Kindern"),
    Noun("girl", "girls", "Mädchen", "n", "Mädchen", "person"),
    Noun("boy", "boys", "Junge", "m", "Jungen", "person", other="Jungen"),
    Noun("teacher", "teachers", "Lehrer", "m", "Lehrer", "person", dative_plural="Lehrern"),
    Noun("dog", "dogs", "Hund", "m", "Hunde", "animal", dative_plural="Hunden"),
    Noun("cat", "cats", "Katze", "f", "Katzen", "animal"),
    Noun("horse", "horses", "Pferd", "n", "Pferde", "animal", dative_plural="Pferden"),
    Noun("bird", "birds", "Vogel", "m", "Vögel", "animal", dative_plural="Vögeln"),
    Noun("sun", "suns", "Sonne", "f", "Sonnen", "sky"),
    Noun("moon", "moons", "Mond", "m", "Monde", "sky"),
    Noun("apple", "apples", "Apfel", "m", "Äpfel", "food"),
    Noun("banana", "bananas", "Banane", "f", "Bananen", "food"),
    Noun("egg", "eggs", "Ei", "n", "Eier", "food"),
    Noun("book", "books", "Buch", "n", "Bücher", "reading"),
    Noun("newspaper", "newspapers", "Zeitung", "f", "Zeitungen", "reading"),
    Noun("letter", "letters", "Brief", "m", "Briefe", "reading"),
    Noun("car", "cars", "Auto", "n", "Autos", "thing"),
    Noun("chair", "chairs", "Stuhl", "m", "Stühle", "thing"),
    Noun("bag", "bags", "Tasche", "f", "Taschen", "thing"),
    Noun("key", "keys", "Schlüssel", "m", "Schlüssel", "thing"),
    Noun("flower", "flowers", "Blume", "f", "Blumen", "thing"),
    Noun("bicycle", "bicycles", "Fahrrad", "n", "Fahrräder", "thing"),
)
NOUNS = {noun.english: noun for noun in _NOUNS}

_VERBS = (
    Verb("sleep", "sleeps", "sleeping", "slept", "schlafen", "schlafe", "schläft", "geschlafen"),
    Verb("laugh", "laughs", "laughing", "laughed", "lachen", "lache", "lacht", "gelacht"),
    Verb("sing", "sings", "singing", "sang", "singen", "singe", "singt", "gesungen"),
    Verb("dance", "dances", "dancing", "danced", "tanzen", "tanze", "tanzt", "getanzt"),
    Verb("work", "works", "working", "worked", "arbeiten", "arbeite", "arbeitet", "gearbeitet"),
    Verb("play", "plays", "playing", "played", "spielen", "spiele", "spielt", "gespielt"),
    Verb("swim", "swims", "swimming", "swam", "schwimmen", "schwimme", "schwimmt", "geschwommen", "sein"),
    Verb("run", "runs", "running", "ran", "rennen", "renne", "rennt", "gerannt", "sein"),
    Verb("wait", "waits", "waiting", "waited", "warten", "warte", "wartet", "gewartet"),
    Verb("come", "comes", "coming", "came", "kommen", "komme", "kommt", "gekommen", "sein"),
    Verb("cry", "cries", "crying", "cried", "weinen", "weine", "weint", "geweint"),
    Verb("shine", "shines", "shining", "shone", "scheinen", "scheine", "scheint", "geschienen"),
    Verb("rise", "rises", "rising", "rose", "aufgehen", "gehe", "geht", "aufgegangen", "sein", "auf"),
    Verb("set", "sets", "setting", "set", "untergehen", "gehe", "geht", "untergegangen", "sein", "unter"),
    Verb("rain", "rains", "raining", "rained", "regnen", "regne", "regnet", "geregnet"),
    Verb("snow", "snows", "snowing", "snowed", "schneien", "schneie", "schneit", "geschneit"),
    Verb("buy", "buys", "buying", "bought", "kaufen", "kaufe", "kauft", "gekauft"),
    Verb("sell", "sells", "selling", "sold", "verkaufen", "verkaufe", "verkauft", "verkauft"),
    Verb("read", "reads", "reading", "read", "lesen", "lese", "liest", "gelesen"),
    Verb("write", "writes", "writing", "wrote", "schreiben", "schreibe", "schreibt", "geschrieben"),
    Verb("eat", "eats", "eating", "ate", "essen", "esse", "isst", "gegessen"),
    Verb("carry", "carries", "carrying", "carried", "tragen", "trage", "trägt", "getragen"),
    Verb("wash", "washes", "washing", "washed", "waschen", "wasche", "wäscht", "gewaschen"),
    Verb("look for", "looks for", "looking for", "looked for", "suchen", "suche", "sucht", "gesucht"),
    Verb("help", "helps", "helping", "helped", "helfen", "helfe", "hilft", "geholfen", case="dat"),
    Verb("see", "sees", "seeing", "saw", "sehen", "sehe", "sieht", "gesehen", simple=True),
    Verb("love", "loves", "loving", "loved", "lieben", "liebe", "liebt", "geliebt", simple=True),
)
VERBS = {verb.english: verb for verb in _VERBS}

PERSONS = ("person", "pronoun")
SUBJECTS = {
    **dict.fromkeys(("sleep", "play", "swim", "run", "wait"), (*PERSONS, "animal")),
    **dict.fromkeys(("laugh", "sing", "dance", "work", "come", "cry"), PERSONS),
}
"""Who can do what, for verbs without an object."""

OBJECTS = {
    "buy": ("food", "reading", "thing"),
    "sell": ("food", "reading", "thing"),
    "read": ("reading",),
    "write": ("letter", "book"),
    "eat": ("food",),
    "carry": ("bag", "chair", "key", "flower", "reading"),
    "wash": ("car", "bicycle", "bag", "food", "animal"),
    "look for": ("person", "animal", "reading", "thing"),
    "help": ("person", "animal"),
    "see": ("person", "animal", "food", "reading", "thing"),
    "love": ("person", "animal"),
}
"""What can be done to what: kinds of nouns, or nouns."""

ADJECTIVES = {
    # English, and the German stem that takes the endings
    "person": (("tired", "müd"), ("happy", "glücklich"), ("small", "klein")),
    "animal": (("tired", "müd"), ("old", "alt"), ("small", "klein"), ("big", "groß")),
    "food": (("small", "klein"), ("big", "groß"), ("green", "grün")),
    "reading": (("old", "alt"), ("new", "neu"), ("good", "gut")),
    "thing": (("red", "rot"), ("green", "grün"), ("old", "alt"), ("new", "neu")),
}

PRONOUNS = (
    Phrase("I", {"nom": "ich"}, "1s"),
    Phrase("he", {"nom": "er"}, "3s"),
    Phrase("she", {"nom": "sie"}, "3s"),
    Phrase("we", {"nom": "wir"}, "1p"),
    Phrase("they", {"nom": "sie"}, "3p"),
)
IT = Phrase("it", {"nom": "es"}, "3s")

TIMES = {
    time.english: time
    for time in (
        Adverbial("today", "heute"),
        Adverbial("now", "jetzt"),
        Adverbial("tonight", "heute Abend"),
        Adverbial("at the moment", "im Moment"),
        Adverbial("yesterday", "gestern"),
        Adverbial("last week", "letzte Woche"),
        Adverbial("tomorrow", "morgen"),
        Adverbial("next week", "nächste Woche"),
    )
}
PRESENT, PAST, FUTURE = (
    ("today", "now", "tonight", "at the moment"),
    ("yesterday", "last week"),
    ("tomorrow", "next week"),
)

PLACES = (
    Adverbial("in the garden", "im Garten"),
    Adverbial("in the park", "im Park"),
    Adverbial("in the house", "im Haus"),
    Adverbial("in the city", "in der Stadt"),
    Adverbial("at the station", "am Bahnhof"),
    Adverbial("under the tree", "unter dem Baum"),
    Adverbial("on the street", "auf der Straße"),
)
LAKES = (Adverbial("in the lake", "im See"), Adverbial("in the sea", "im Meer"))
