"""The phrase book as it is typed: Ex. 5.1 and at least 95 % of unseen sentences exactly right."""

import time

import pytest

from lamina.training.fit import fit
from lamina.training.plan import plan
from lamina.training.run import Run


@pytest.mark.slow
@pytest.mark.notes("N5.03", "N5.49")
def test_the_phrase_book_is_learned_with_the_usual_recipe(tmp_path):
    job = plan("seq2seq", "phrasebook", out=tmp_path / "run")
    begin = time.process_time()
    run = fit(job.model, job.task, job.recipe, folder=job.folder)
    print(f"{time.process_time() - begin:.0f} CPU seconds")
    found = run.evaluate()
    assert found.examples == 2000 and found.metrics["exact"] >= 0.95
    for beams in (1, 4):
        assert Run.load(job.folder).predict("The sun is shining today", beams=beams).texts == (
            "Heute scheint die Sonne",
        )
