#include "attack/attack.h"
const struct probe rl_probes[] = {{0}};
