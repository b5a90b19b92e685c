// Random numbers: the hash of `functional.random`.
typedef unsigned int Word;

INLINE Word mix(Word x) {
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = (x ^ (x >> 15)) * 0x846CA68Bu;
  return x ^ (x >> 16);
}

INLINE Word key_of(Word seed, Word stream, Word counter) {
  const Word step = 0x9E3779B9u;
  return mix((mix(seed + step) ^ stream) + step) ^ counter;
}

// A number in [0, 1) of 24 bits.
INLINE float uniform(Word key, Word index) {
  return (float)(mix(mix(index + mix(key + 0x9E3779B9u)) ^ key) >> 8) * 5.9604644775390625e-8f;  // 2^-24
}
