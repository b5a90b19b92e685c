"""Texts that hypothesis draws: of any characters, and of those that make splitting hard."""

from hypothesis import strategies as st

any_text = st.text(max_size=60)
texts = st.one_of(any_text, st.text(alphabet="aB ,.'-3:\"(„“😀👩\u200d🏽é\u0301ßİΣ中שي_$\t\n", max_size=40))
