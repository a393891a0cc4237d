/* The context switch of fibers: callee-saved registers and the stack pointer. For one file of a
 * program, which is compiled without LTO: that joins the assembler of several, and may part it from
 * what calls it. */
#ifndef GP_SIMT_SWITCH_H
#define GP_SIMT_SWITCH_H

#include <stdint.h>

#include "kernels/common/simt/context.h"

#ifdef GP_SIMT_UCONTEXT
static inline void gp_context_swap(gp_fiber_context *from, gp_fiber_context *to) {
    swapcontext(&from->u, &to->u);
}
static inline void gp_context_make(gp_fiber_context *c, char *stack, size_t size,
                                   void (*entry)(void)) {
    getcontext(&c->u);
    c->u.uc_stack.ss_sp = stack, c->u.uc_stack.ss_size = size, c->u.uc_link = NULL;
    makecontext(&c->u, entry, 0);
}
#else
/* Saves the stack pointer in *from, and continues on the stack `to`. */
void gp_simt_swap(void **from, void *to);
#ifdef __x86_64__
__asm__(".text\n"
        ".p2align 4\n"
        ".local gp_simt_swap\n"
        ".type gp_simt_swap, @function\n"
        "gp_simt_swap:\n"
        "pushq %rbp\n"
        "pushq %rbx\n"
        "pushq %r12\n"
        "pushq %r13\n"
        "pushq %r14\n"
        "pushq %r15\n"
        "movq %rsp, (%rdi)\n"
        "movq %rsi, %rsp\n"
        "popq %r15\n"
        "popq %r14\n"
        "popq %r13\n"
        "popq %r12\n"
        "popq %rbx\n"
        "popq %rbp\n"
        "ret\n"
        ".size gp_simt_swap, .-gp_simt_swap\n");
/* Six registers, then the address for ret; on entry the stack is 8 bytes off a multiple of 16, as
 * after a call. */
enum { ENTRY = 6, FRAME = 8 };
#else
__asm__(".text\n"
        ".p2align 4\n"
        ".local gp_simt_swap\n"
        ".type gp_simt_swap, %function\n"
        "gp_simt_swap:\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp, #0]\n"
        "stp x21, x22, [sp, #16]\n"
        "stp x23, x24, [sp, #32]\n"
        "stp x25, x26, [sp, #48]\n"
        "stp x27, x28, [sp, #64]\n"
        "stp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]\n"
        "stp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]\n"
        "stp d14, d15, [sp, #144]\n"
        "mov x9, sp\n"
        "str x9, [x0]\n"
        "mov sp, x1\n"
        "ldp x19, x20, [sp, #0]\n"
        "ldp x21, x22, [sp, #16]\n"
        "ldp x23, x24, [sp, #32]\n"
        "ldp x25, x26, [sp, #48]\n"
        "ldp x27, x28, [sp, #64]\n"
        "ldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]\n"
        "ldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]\n"
        "ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160\n"
        "ret\n"
        ".size gp_simt_swap, .-gp_simt_swap\n");
/* The slot of x30, which ret takes; the stack stays on 16 bytes. */
enum { ENTRY = 11, FRAME = 20 };
#endif
static inline void gp_context_swap(gp_fiber_context *from, gp_fiber_context *to) {
    gp_simt_swap(&from->sp, to->sp);
}
static inline void gp_context_make(gp_fiber_context *c, char *stack, size_t size,
                                   void (*entry)(void)) {
    uintptr_t *top = (uintptr_t *)((uintptr_t)(stack + size) & ~(uintptr_t)15) - FRAME;
    for (int i = 0; i < FRAME; i++) top[i] = 0;
    top[ENTRY] = (uintptr_t)entry;
    c->sp = top;
}
#endif

#endif
