#include "attack/attack.h"
const struct probe alone_files[] = {{0}};
