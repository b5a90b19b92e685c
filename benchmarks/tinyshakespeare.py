"""How well does a recurrent network predict the next character of tiny Shakespeare, and how soon?

    LAMINA_DATA=... python benchmarks/tinyshakespeare.py --parallel 6 --seeds 3

The loss in nats a character on the last 10 %, which also choose the best epoch, as published figures have it.
"""

from language import Question, main

if __name__ == "__main__":
    main(Question("tinyshakespeare", "many-to-many", "loss"))
