#include "attack/attack.h"
const struct probe tm_probes[] = {{0}};
