/* A program of Lamina in C, without Lamina:
     lamina-compile examples/classifier.mlir -o build --no-openmp
     cc -Ibuild examples/classifier.c build/classifier.o -lm -o build/classifier && build/classifier */
#include <stdio.h>

#include "classifier.h"

_Alignas(64) static unsigned char prepared[CLASSIFIER_PREPARED_BYTES + 1];
_Alignas(64) static unsigned char workspace[CLASSIFIER_WORKSPACE_BYTES + 1];

int main(void) {
  struct classifier_memory memory = {0, prepared, workspace};
  int64_t words[4] = {0, 2, 4, 1};
  float sum[3] = {0, 0, 0}, scores[3] = {0, 0, 0};
  int32_t status = classifier_prepare(&memory);
  for (int call = 0; call < 2 && status == 0; ++call)
    status = classifier(words, sum, scores, &memory);
  printf("%s: scores %g %g %g, sums %g %g %g\n", classifier_message(status), scores[0], scores[1],
         scores[2], sum[0], sum[1], sum[2]);
  words[1] = 5;
  printf("%s\n", classifier_message(classifier(words, sum, scores, &memory)));
  return status;
}
