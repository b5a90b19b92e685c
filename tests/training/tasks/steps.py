"""Updates on small texts, by a learner and by hand."""

import torch

import lamina
from lamina.data.text.texts import PairDataset, RunningText, TextDataset
from lamina.data.text.tokens import TextPreprocess
from lamina.functional.clipping import clip
from lamina.training.executors.choose import learner
from lamina.training.runtime import Runtime
from lamina.training.tasks.kinds import task_of

WORDS = "the a sun moon cat dog is was here there now then".split()


EXACT = {"rtol": 1e-12, "atol": 1e-12}


def sentences(count, seed=0):
    g = torch.Generator().manual_seed(seed)
    found = dict.fromkeys([""])
    while len(found) < count:
        words = torch.randint(12, (int(torch.randint(1, 7, (), generator=g)),), generator=g)
        found[" ".join(WORDS[i] for i in words.tolist())] = None
    return list(found)


def reviews(count=40):
    return TextDataset.of(sentences(count), torch.arange(count) % 2, ("bad", "good")).split(seed=0)


def pairs(count=40):
    return PairDataset.of(sentences(count), [text.upper() for text in sentences(count, 1)]).split(seed=0)


def text(length=600):
    return RunningText.of((" ".join(sentences(200)) + ". ")[:length]).split(seed=0)


def made(split, name, recipe, device="cpu", step="auto", **options):
    prepare = TextPreprocess.fit(split.train)
    sizes = {"inputs": prepare.input_size, "outputs": prepare.output_size, "hidden": 6, "embedding": 5}
    model = lamina.build(name, **sizes, **options)
    task = task_of(split, preprocess=prepare)
    return learner(model, task, recipe, Runtime(device=device, step=step)), prepare


def by_hand(model, batches, rate, limit=None):
    """Run plain gradient steps and return the losses."""
    losses, params = [], list(model.parameters())
    for function in batches:
        loss = function(model)
        grads = torch.autograd.grad(loss, params)
        if limit is not None:
            named = dict(enumerate(grads))
            grads = list(clip({str(k): g for k, g in named.items()}, limit, "global").values())
        with torch.no_grad():
            for p, g in zip(params, grads, strict=True):
                p -= rate * g
        losses.append(loss.item())
    return losses


def same_weights(one, other):
    for p, q in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(p, q, **EXACT)


def run_epochs(step, epochs):
    for epoch in range(epochs):
        step.begin(epoch)
        for _ in range(step.batches):
            step()
