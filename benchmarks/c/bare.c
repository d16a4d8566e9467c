/* bare: a program that does without a library, to tell what starting any program costs. */
#include <stdio.h>

int main(void) {
  volatile float values[] = {2, 3};
  printf("%g, no library\n", (double)(values[0] + values[1]));
  return 0;
}
