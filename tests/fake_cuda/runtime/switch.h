/* The context switch of the fibers: callee-saved registers and the stack pointer. */
#ifndef FAKE_SWITCH_H
#define FAKE_SWITCH_H

#include <stdint.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#define FAKE_UCONTEXT
#include <ucontext.h>
#endif

namespace fake {
struct context {
#ifdef FAKE_UCONTEXT
    ucontext_t u;
#else
    void *sp;
#endif
};

#ifdef FAKE_UCONTEXT
static inline void context_swap(context *from, context *to) { swapcontext(&from->u, &to->u); }
static inline void context_make(context *c, char *stack, size_t size, void (*entry)()) {
    getcontext(&c->u);
    c->u.uc_stack.ss_sp = stack, c->u.uc_stack.ss_size = size, c->u.uc_link = NULL;
    makecontext(&c->u, entry, 0);
}
#else
extern "C" void fake_swap(void **from, void *to);
#ifdef __x86_64__
asm(R"(
.text
.p2align 4
.local fake_swap
.type fake_swap, @function
fake_swap:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size fake_swap, .-fake_swap
)");
/* Six registers, then the address for ret; on entry the stack is 8 bytes off a multiple of 16, as
 * after a call. */
enum { SAVED = 6, ENTRY = 6, FRAME = 8 };
#else
asm(R"(
.text
.p2align 4
.local fake_swap
.type fake_swap, %function
fake_swap:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size fake_swap, .-fake_swap
)");
/* The slot of x30, which ret takes; the stack stays on 16 bytes. */
enum { SAVED = 20, ENTRY = 11, FRAME = 20 };
#endif
static inline void context_swap(context *from, context *to) { fake_swap(&from->sp, to->sp); }
static inline void context_make(context *c, char *stack, size_t size, void (*entry)()) {
    uintptr_t *top = (uintptr_t *)((uintptr_t)(stack + size) & ~(uintptr_t)15) - FRAME;
    for (int i = 0; i < FRAME; i++) top[i] = 0;
    top[ENTRY] = (uintptr_t)entry;
    c->sp = top;
}
#endif
} // namespace fake

#endif
