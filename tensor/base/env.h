/* The variables of the environment, which only this file's functions read: tensor/base/env.def says
 * what their values may be, and gp_env_check refuses others when gpush is opened. */
#ifndef GP_ENV_H
#define GP_ENV_H

#include <stdbool.h>
#include <stdint.h>

typedef enum gp_env {
#define INTEGER(name, least, most) GP_ENV_##name,
#define INTEGERS(name, least, most) GP_ENV_##name,
#define SIZE(name, bytes, unit) GP_ENV_##name,
#define WORD(name, ...) GP_ENV_##name,
#define TEXT(name) GP_ENV_##name,
#include "tensor/base/env.def"
#undef INTEGER
#undef INTEGERS
#undef SIZE
#undef WORD
#undef TEXT
    GP_ENVS
} gp_env;

/* Fails with the first variable whose value cannot be used, the value and what is expected. */
bool gp_env_check(void);

/* Its name. */
const char *gp_env_name(gp_env v);
/* The value; NULL where the variable is not set, or empty. */
const char *gp_env_text(gp_env v);
/* The value of an INTEGER, the first one of INTEGERS, the bytes of a SIZE; `otherwise` where the
 * variable is not set or cannot be used. */
int64_t gp_env_number(gp_env v, int64_t otherwise);
/* Whether the value is that word. */
bool gp_env_is(gp_env v, const char *word);

/* A size in text, such as "50MB", "1.5 GiB" or "3", in bytes, from 1 to 2^62; 0 where it is none.
 * unit: bytes of a number alone. */
uint64_t gp_size_parse(const char *text, double unit);

#endif
