"""How well does an encoder-decoder without attention translate Multi30k (en to de, test_2016_flickr), and how soon?

    LAMINA_DATA=... python benchmarks/multi30k.py --parallel 6 --seeds 3

BLEU by sacrebleu, 5 beams, lower-cased; cased BLEU and chrF beside it.
"""

from language import Question, main

if __name__ == "__main__":
    main(Question("multi30k", "seq2seq", "bleu_beams_lowercase"))
