#include "attack/attack.h"
const struct probe dk_probes[] = {{0}};
