/* For code that is included once for each type: names with the type's suffix, and NaN of any
 * type. */
#ifndef GP_TYPED_H
#define GP_TYPED_H

/* GP_TYPED(sum, t) is sum_f32 where t is defined as f32. */
#define GP_TYPED2(name, suffix) name##_##suffix
#define GP_TYPED(name, suffix) GP_TYPED2(name, suffix)

/* False for integers. A macro, because compilers warn of v != v in plain code. */
#define GP_IS_NAN(v) ((v) != (v))

#endif
