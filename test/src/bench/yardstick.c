/* The yardstick of `npm run bench -- verify`: what libsecp256k1 of this machine needs to recover a public key.
   Reads the count and then, for each signature, its digest (32 bytes), r and s (64) and parity (1). For each further byte it
   recovers all of them once and prints the CPU that took, in microseconds for each. */
#include <secp256k1.h>
#include <secp256k1_recovery.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PROOF_BYTES 97

static double cpu_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

int main(void) {
  secp256k1_context *context = secp256k1_context_create(SECP256K1_CONTEXT_VERIFY);
  uint32_t count;
  if (fread(&count, sizeof count, 1, stdin) != 1) return 1;
  unsigned char *proofs = malloc((size_t)count * PROOF_BYTES);
  if (proofs == NULL || fread(proofs, PROOF_BYTES, count, stdin) != count) return 1;
  while (getchar() != EOF) {
    double before = cpu_us();
    for (uint32_t n = 0; n < count; n += 1) {
      const unsigned char *proof = proofs + (size_t)n * PROOF_BYTES;
      secp256k1_ecdsa_recoverable_signature signature;
      secp256k1_pubkey key;
      unsigned char point[65];
      size_t length = sizeof point;
      if (!secp256k1_ecdsa_recoverable_signature_parse_compact(context, &signature, proof + 32, proof[96]) ||
          !secp256k1_ecdsa_recover(context, &key, &signature, proof) ||
          !secp256k1_ec_pubkey_serialize(context, point, &length, &key, SECP256K1_EC_UNCOMPRESSED))
        return 1;
    }
    printf("%.3f\n", (cpu_us() - before) / count);
    fflush(stdout);
  }
  return 0;
}
