"""What a reader does on the pages of chapter 5."""

import re

from harness import (
    WebDriver,
    choose,
    click,
    page_text,
    plot_text,
    set_slider,
    slider_value,
    type_text,
    wait,
    wait_changed,
)


def two_sentences_with_the_same_words_end_in_other_states(driver: WebDriver) -> None:
    assert "difference of counts0" in page_text(driver)
    look = lambda: plot_text(driver, "last states of a recurrent network")  # noqa: E731
    assert "their distance is 0.000" not in look()
    _, after = wait_changed(driver, look, lambda: type_text(driver, "another sentence", "the dog bites the man"))
    assert "their distance is 0.000" in after


def a_weight_above_one_remembers_the_pulse(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Inputs and states over 12 steps")  # noqa: E731
    assert "the first state is 0.762, the last 0.151" in look()
    set_slider(driver, "w_h", 6)
    wait(lambda: slider_value(driver, "w_h") == 1.5)
    wait(lambda: "the last 0.859" in look(), words="the state that stays")


def a_shape_has_as_many_cells_as_it_needs(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "A network with")  # noqa: E731
    assert "5 inputs, 9 cells and 4 outputs" in look()
    wait_changed(driver, look, lambda: choose(driver, "shape", "many to one"))
    wait(lambda: "5 inputs, 5 cells and 1 outputs" in look())


def one_direction_sees_nothing_of_the_future(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "How strongly the output at time 11")  # noqa: E731
    assert "10 later inputs have an influence" in look()
    _, after = wait_changed(driver, look, lambda: click(driver, "both directions"))
    assert "0 later inputs have an influence" in after


def a_larger_radius_keeps_the_first_input(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "feels the first input")  # noqa: E731
    assert "1.55 at 1, 2.18e-09 at 30" in look()
    set_slider(driver, "spectral radius", 5)
    wait(lambda: "0.31 at 30" in look(), words="a radius of 1")


def clipping_all_together_keeps_the_direction(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "before and after clipping")  # noqa: E731
    assert "lengths 1.000, 1.044, 1.446; cosines 1.000, 0.973, 0.979" in look()
    set_slider(driver, "bound", 1)
    wait(lambda: "lengths 1.100, 1.140, 1.584" in look())


def cats_are_learned_and_stopped(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Share of right answers")  # noqa: E731
    click(driver, "Learn")
    wait(lambda: re.search(r"after [1-9]\d* updates", look()), 60, "the first updates")
    click(driver, "Learn")
    wait(lambda: "paused" in page_text(driver) or "done" in page_text(driver), words="the end of the work")


def a_closed_update_gate_keeps_the_state(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "A gated recurrent unit with numbers")  # noqa: E731
    assert "new state -0.248" in look()
    _, after = wait_changed(driver, look, lambda: choose(driver, "update gate", "closed (0)"))
    assert "update 0.000" in after and "new state 0.500" in after


def gates_read_a_sentence(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "the probability of were")  # noqa: E731
    assert "1.000 at the end" in look()
    assert "the cats … were" in page_text(driver)
    wait_changed(driver, look, lambda: choose(driver, "The", "cat"))
    wait(lambda: "the cat … was" in page_text(driver))
    choose(driver, "network", "LSTM")
    wait(lambda: "The forget gate of six units" in plot_text(driver, "gate of six units"))


def open_forget_gate_and_closed_input_gate_keep_the_belt(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "The cell state over 50 steps")  # noqa: E731
    choose(driver, "forget gate", "open (1)")
    choose(driver, "input gate", "closed (0)")
    wait(lambda: "0.900 at the end" in look(), words="a belt that keeps 0.9")


def one_component_makes_both_resets_equal(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "state of both cells")  # noqa: E731
    assert "differ by up to 0.228" in look()
    set_slider(driver, "of both cells", -3)
    wait(lambda: re.search(r"differ by up to (0|\d\.\d+e-1\d)", look()), words="no difference")


def an_own_text_makes_a_dictionary(driver: WebDriver) -> None:
    assert "16 words, sorted" in page_text(driver)
    type_text(driver, "a text to make the dictionary from", "b a b c")
    wait(lambda: "3 words, sorted" in page_text(driver), words="a dictionary of three words")
    wait(lambda: "1 1 1 1 1 1 1 3" in page_text(driver), words="a sentence of unknown words")


def a_certain_answer_costs_little(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "the seventh is right")  # noqa: E731
    assert "the loss is 0.5108" in look()
    set_slider(driver, "of the right word", 5)
    wait(lambda: "the loss is 0.4308" in look())


def english_becomes_german(driver: WebDriver) -> None:
    assert "Heute scheint die Sonne" in page_text(driver)
    assert "words read5" in page_text(driver) and "words written4" in page_text(driver)
    drawn = plot_text(driver, "6 inputs, then 5 outputs")
    assert drawn.startswith(
        "6 inputs, then 5 outputs: the sun is shining today <end> becomes heute scheint die sonne <end>"
    )
    assert all(f">{word}</text>" in drawn for word in ("shining", "sonne")), "the words stand at their nodes"
    type_text(driver, "your sentence in English", "The cats are sleeping in the garden")
    wait(lambda: "Die Katzen schlafen im Garten" in page_text(driver), words="a translation")
    choose(driver, "example", "a reason")
    wait(lambda: "Ich lache, weil die Sonne scheint" in page_text(driver), words="the example")
    type_text(driver, "your sentence in English", "The Zebra is sleeping")
    wait(lambda: "Not in its dictionary: Zebra" in page_text(driver), words="a word about the unknown word")


def twelve_sentences_are_learned_by_heart(driver: WebDriver) -> None:
    click(driver, "Learn")
    wait(lambda: "12 of 12 after" in plot_text(driver, "Correct sentences"), 120, "twelve right sentences")
    click(driver, "Learn")


def it_writes_while_it_learns(driver: WebDriver) -> None:
    click(driver, "Learn")
    wait(lambda: re.search(r"After [1-9][\d,]* updates it writes", page_text(driver)), 60, "a first sample")
    set_slider(driver, "temperature", 1)
    updates = lambda: int(re.search(r"After ([\d,]+) updates", page_text(driver))[1].replace(",", ""))  # noqa: E731
    before = updates()
    wait(lambda: updates() > before, words="training that goes on with another temperature")
    click(driver, "Learn")
    wait(lambda: "It continues from your beginning" in page_text(driver), words="the end of the work")
    type_text(driver, "begin the text with", "Warum ")
    wait(lambda: re.search(r"beginning.*Warum ", page_text(driver), re.DOTALL), words="the new beginning")


def temperature_flattens_the_probabilities(driver: WebDriver) -> None:
    look = lambda: plot_text(driver, "Probabilities of six letters")  # noqa: E731
    assert "the most probable has 0.433" in look()
    set_slider(driver, "for the six letters", 10)
    wait(lambda: "the most probable has 0.301" in look())


CHECKS = {
    "ch5/unrolling": (
        two_sentences_with_the_same_words_end_in_other_states,
        a_weight_above_one_remembers_the_pulse,
        a_shape_has_as_many_cells_as_it_needs,
        one_direction_sees_nothing_of_the_future,
    ),
    "ch5/long-term": (
        a_larger_radius_keeps_the_first_input,
        clipping_all_together_keeps_the_direction,
        cats_are_learned_and_stopped,
    ),
    "ch5/gates": (
        a_closed_update_gate_keeps_the_state,
        gates_read_a_sentence,
        open_forget_gate_and_closed_input_gate_keep_the_belt,
        one_component_makes_both_resets_equal,
    ),
    "ch5/dictionary": (an_own_text_makes_a_dictionary, a_certain_answer_costs_little),
    "ch5/translation": (english_becomes_german, twelve_sentences_are_learned_by_heart),
    "ch5/characters": (it_writes_while_it_learns, temperature_flattens_the_probabilities),
}
