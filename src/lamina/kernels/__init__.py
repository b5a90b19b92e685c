"""What exists only for speed: CUDA C++, Triton, C++. Tensors and numbers in, tensors out; nothing from above is imported.

A kernel never falls back: it says whether it fits, and the caller chooses, at one point for each operation.

| module | serves | chosen in | bound by |
|---|---|---|---|
| `bottleneck` (`_bottleneck_triton`, `_bottleneck_kernels_triton`) | `layers.bottleneck.PreActBottleneck` | `layers._fused` | `kernels/test_bottleneck` |
| `cells` (`scan`) | `functional.recurrent.unroll` of K cells | `populations._sequences` | `kernels/test_cells` |
| `convolution` | convolution, activation and pooling of K networks, and on a CPU of one | `populations._pictures`, `training.executors._convolution` (by `layers._stages`) | `kernels/test_convolution`, `training/executors/test_convolution` |
| `dropout` | `functional.random.dropout` of K networks | `populations._masks` | `kernels/test_dropout` |
| `gru_scan` (`gru_cuda`) | `functional.recurrent.unroll` of `gru_step` | `layers._fused` | `kernels/test_gru_scan`, `kernels/test_gru_cuda` |
| `judge` | `populations._losses.Losses` | `populations._stack` | `kernels/test_judge` |
| `kmeans` (`_kmeans_triton`) | `classical.kmeans.half_steps` | `classical.kmeans` | `kernels/test_kmeans` |
| `nearest` | `classical.kmeans.assign` with its margins, on a CPU | `kernels.kmeans` | `kernels/test_nearest`, `kernels/test_kmeans` |
| `networks` | the whole pass of K feedforward networks on a CPU: `populations._units.fnn`, `populations._losses.Losses` and their derivatives | `populations._passes` | `kernels/test_networks` |
| `norm` (`_norm_triton`) | `layers.normalization.norm_relu` and its neighbors | `layers._fused` | `kernels/test_norm` |
| `ordered` (`_products_triton`) | dense layers, activations and sums of K networks, in an order that one member alone decides | `populations._dense`, `populations._units` | `populations/test_fixed_order` |
| `pooling` | `functional.pooling.max_pool` with windows of 2 x 2, on a CPU | `training.executors._pooling` | `kernels/test_pooling` |
| `small_networks` | torch's dense and convolutional layers, batches of pictures, loss and Adam of small networks | `training.executors.captured`, `training.executors._small` | `kernels/test_small_networks` |
| `torch_recurrent` | `functional.recurrent.unroll` of the cells that torch has | `layers._fused` | `kernels/test_torch_recurrent` |
| `update` | `populations._update._reference` | `populations._forms` | `kernels/test_update` |

One loader per compiler: `_nvrtc` (CUDA C++) and `native` (C++), bound by `kernels/test_nvrtc` and `kernels/test_native`; `loading` reads the
texts and imports what needs triton.
"""
