import sys
from subprocess import run

from lamina.architectures.table import TABLE


def test_names_set_what_they_say():
    assert len(TABLE) == 22 and all(name == entry.name for name, entry in TABLE.items())
    entry = TABLE["resnet18-cifar"]
    assert (entry.module, entry.config, entry.network) == ("lamina.architectures.resnet", "ResNetConfig", "ResNet")
    assert entry.options == {"depth": 18, "stem": "cifar", "inputs": (3, 32, 32), "outputs": 10}
    assert TABLE["resnet1001"].network == "CifarResNet" and TABLE["resnet1001"].place == "§4.1, N4.28"


def test_the_table_needs_no_torch():
    code = "import sys, lamina.architectures.table; assert 'torch' not in sys.modules"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
