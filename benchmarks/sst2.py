"""How well does a recurrent network judge the sentences of SST-2 when it starts from nothing, and how soon?

    LAMINA_DATA=... python benchmarks/sst2.py --parallel 5

The accuracy on the 1,821 test sentences after training on the 6,920 whole sentences, no others and no word vectors.
"""

from language import Question, main

if __name__ == "__main__":
    main(Question("sst2", "many-to-one", "accuracy"))
