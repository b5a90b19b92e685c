// Add up one value of each thread of a block, whose size is a power of 2, in a fixed order; all threads get the sum.
INLINE double sum_of_block(double value, double* shared) {
  shared[threadIdx.x] = value;
  for (int half = blockDim.x / 2; half; half /= 2) {
    __syncthreads();
    if ((int)threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  __syncthreads();
  const double sum = shared[0];
  __syncthreads();
  return sum;
}
