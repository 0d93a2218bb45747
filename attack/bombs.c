#include "attack/attack.h"
const struct probe alone_bombs[] = {{0}};
