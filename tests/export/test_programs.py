"""Programs of torch: they run without Lamina, for any batch and time, compiled or not."""

import subprocess
import sys

import pytest
import torch

import lamina
from lamina._errors import RunError
from lamina.export import programs
from lamina.export.programs import save_program
from lamina.export.save import deployed_network, save

_CHILD = """
import sys, torch
program = torch.export.load(sys.argv[1]).module()
for batch, time in ((1, 1), (4, 11)):
    print(program(torch.linspace(-1, 1, batch * time * 3).reshape(batch, time, 3)).sum().item())
assert "lamina" not in sys.modules
"""


def network() -> torch.nn.Module:
    return lamina.build("many-to-one", inputs=3, outputs=2, hidden=4, bidirectional=True, pooling="mean").eval()


@pytest.mark.slow
def test_a_program_runs_without_lamina(tmp_path):
    save(network(), tmp_path / "m.pt2")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _CHILD, tmp_path / "m.pt2"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    shapes = [(1, 1, 3), (4, 11, 3)]
    wanted = [
        network()(torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape)).sum().item() for shape in shapes
    ]
    assert list(map(float, done.stdout.split())) == pytest.approx(wanted, rel=1e-4, abs=1e-5)


@pytest.mark.slow
def test_an_encoder_and_a_decoder_are_two_programs(pairs, tmp_path):
    files = save(pairs, tmp_path / "m.pt2").files
    assert [file.name for file in files] == ["m-encoder.pt2", "m-decoder.pt2"]
    tokens = pairs.preprocess.read(["small cat", "old hen pig"])
    with torch.no_grad():
        h, c = torch.export.load(files[0]).module()(tokens)
        wanted = pairs.model.encode(tokens)
        torch.testing.assert_close((h, c), wanted, rtol=0, atol=1e-5)
        outputs = torch.export.load(files[1]).module()(torch.tensor([2, 2]), h, c)[0]
        torch.testing.assert_close(outputs, pairs.model.write(torch.tensor([2, 2]), wanted)[0], rtol=0, atol=1e-5)


def test_a_program_for_any_batch_and_time(tmp_path):
    (file,) = save(network(), tmp_path / "m.pt2").files
    program = torch.export.load(file).module()
    for shape in ((1, 1, 3), (4, 11, 3)):
        inputs = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        with torch.no_grad():
            torch.testing.assert_close(program(inputs), network()(inputs), rtol=0, atol=1e-5)


def test_what_differs_is_refused(tmp_path, monkeypatch):
    saved = programs._saved
    monkeypatch.setattr(programs, "_saved", lambda *args: lambda *inputs: 1.001 * saved(*args)(*inputs))
    with pytest.raises(RunError, match="the program computes something else than the trained network"):
        save_program(deployed_network(lamina.build("perceptron")), tmp_path / "m.pt2")
    assert list(tmp_path.iterdir()) == []


def test_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setattr(programs.shutil, "which", lambda name: None)
    with pytest.raises(RunError, match="--aot compiles the network, which needs a C\\+\\+ compiler"):
        save(lamina.build("perceptron"), tmp_path / "m.pt2", aot=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.posix
@pytest.mark.parametrize("name", ["fnn", "recurrent"])
def test_compiled_ahead_of_time(name, tmp_path):
    net = lamina.build("fnn", inputs=3, outputs=2, hidden=4).eval() if name == "fnn" else network()
    save(net, tmp_path / "m.pt2", aot=True)
    compiled = torch._inductor.aoti_load_package(str(tmp_path / "m.pt2"))
    for shape in [(2, 3), (7, 3)] if name == "fnn" else [(2, 3, 3), (7, 12, 3)]:
        inputs = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(compiled(inputs), net(inputs), rtol=0, atol=1e-5)
