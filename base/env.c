/* env.c - see env.h */
#include "base/env.h"

#include "base/hash.h"

void env_rng(const struct env *env, const char *purpose, struct rng *out)
{
    rng_seed(out,
             env->seed == 0 ? rng_seed_from_os() : hash64_seed(bytes_of_str(purpose), env->seed));
}
