import pytest

from lamina.experiments.sizes import channel_growth, first_layer_sizes, resnet18_parameters


@pytest.mark.notes("N3.04")
def test_a_billion_weights_for_a_large_picture():
    result = first_layer_sizes().check()
    assert result.column("dense") == [785_000, 10_001_000, 50_177_000, 1_000_001_000]
    assert set(result.column("convolutional")) == {96 * 26}


@pytest.mark.notes("N3.32")
def test_numbers_of_maps():
    result = channel_growth().check()
    assert result.column("maps") == ["6, 16", "96, 256, 384, 256", "64, 128, 256, 512"]


@pytest.mark.notes("N4.33")
def test_parameters_of_resnet18():
    result = resnet18_parameters().check()
    assert result.column("all") == [11_181_642, 11_689_512] and result.column("dense") == [5_130, 513_000]
