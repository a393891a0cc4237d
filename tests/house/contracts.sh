#!/bin/bash
# Every function that a header declares has its contract in a comment: above it, or above the group
# of declarations that it is in (tests/support/contracts.awk).
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$root/tests/support/tap.sh"

undescribed() {
    find tensor kernels profile bindings shell -name '*.h' -o -name '*.cuh' | LC_ALL=C sort |
        xargs -r awk -f "$root/tests/support/contracts.awk"
}

cd "$root" || exit 1
tap_empty "$(undescribed)" "every function of a header is described"

# The rule can fail: headers with and without comments.
TMPDIR=$(mktemp -d) || exit 1
trap 'rm -rf "$TMPDIR"' EXIT
cd "$TMPDIR" && mkdir -p tensor profile kernels bindings shell || exit 1
cat >tensor/good.h <<'END'
/* A header whose functions are all described. */

/* Returns one. */
int one(void);
#define two SUFFIXED(two)
int two(int a,
        int b);

int three(void); /* on its line */
static inline int four(void) { return 4; }
typedef int (*callback)(int x);
extern int (*hook)(int x);
extern _Thread_local int variable;
END
cat >tensor/bad.h <<'END'
/* A header with functions that no comment describes. */

int after_a_blank(void);

/* Describes the type. */
typedef struct pair {
    int a; /* a field */
    int (*call)(void);
} pair;
int after_a_type(pair *p);

/* Describes the next one. */
int described(void);

const char *on_lines(int a,
                     int b);
END
tap_is "$(undescribed)" "tensor/bad.h:3: after_a_blank
tensor/bad.h:10: after_a_type
tensor/bad.h:15: on_lines" "functions without a comment are found, others are not"
tap_done
