"""What exists only for speed: CUDA C++, Triton, C++. Tensors and numbers in, tensors out; nothing from above is imported.

A kernel never falls back: it says whether it fits, and the caller chooses, at one point for each operation.

| module | serves | chosen in | bound by |
|---|---|---|---|
| `bottleneck` (`bottleneck_triton`, `bottleneck_kernels_triton`) | `layers.bottleneck.PreActBottleneck` | `layers.fused` | `kernels/test_bottleneck` |
| `cells` | `functional.recurrent.unroll` of K cells | `populations.sequences` | `kernels/test_cells` |
| `convolution` | convolution, activation and pooling of K networks | `populations.pictures` | `kernels/test_convolution` |
| `dropout` | `functional.random.dropout` of K networks | `populations.masks` | `kernels/test_dropout` |
| `gru_scan` (`gru_cuda`) | `functional.recurrent.unroll` of `gru_step` | `layers.fused` | `kernels/test_gru_scan`, `kernels/test_gru_cuda` |
| `judge` | `populations.losses.Losses` | `populations.stack` | `kernels/test_judge` |
| `kmeans` (`kmeans_triton`) | `classical.kmeans.half_steps` | `classical.kmeans` | `kernels/test_kmeans` |
| `norm` (`norm_triton`) | `layers.normalization.norm_relu` and its neighbors | `layers.fused` | `kernels/test_norm` |
| `small_networks` | torch's dense and convolutional layers, batches of pictures, loss and Adam of small networks | `training.executors.captured`, `training.executors.small` | `kernels/test_small_networks` |
| `torch_recurrent` | `functional.recurrent.unroll` of the cells that torch has | `layers.fused` | `kernels/test_torch_recurrent` |
| `update` | `populations.update.reference` | `populations.forms` | `kernels/test_update` |

One loader a compiler: `nvrtc` (CUDA C++) and `native` (C++), bound by `kernels/test_nvrtc` and `kernels/test_native`; `loading` reads the
texts and imports what needs triton.
"""
