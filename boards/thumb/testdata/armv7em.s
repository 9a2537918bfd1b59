@ SPDX-License-Identifier: Apache-2.0
@ One instruction a line, behind the class that it belongs to: cortex-m4.
.syntax unified
.thumb
@ class alu
movs r0, #1
adds r0, r1, r2
adds r0, r1, #3
subs r0, #9
cmp r0, r1
cmp r8, r1
mov r8, r1
add r8, r1
lsls r0, r1, #3
lsls r0, r1
ands r0, r1
mvns r0, r1
adr r0, 9f
add r0, sp, #8
sub sp, #8
uxtb r0, r1
rev r0, r1
nop
nop.w
it eq
moveq r0, r1
sxtb16 r0, r1
sadd16 r0, r1, r2
usat16 r0, #8, r1
usat r0, #8, r1, asr #3
pkhbt r0, r1, r2
ubfx r0, r1, #3, #4
bfi r0, r1, #3, #4
ssat r0, #8, r1
clz r0, r1
rbit r0, r1
sel r0, r1, r2
uxtab16 r0, r1, r2, ror #8
movw r0, #1234
movt r0, #1234
add.w r0, r1, r2, lsl #3
mov.w r0, r1, ror #7
adds.w r0, r1, #255
pld [r0]
@ class mul
muls r0, r1, r0
mul r0, r1, r9
smlad r0, r1, r2, r3
smuad r0, r1, r2
smlabb r0, r1, r2, r3
smmul r0, r1, r2
smmla r0, r1, r2, r3
smulwb r0, r1, r2
smulbb r0, r1, r2
usada8 r0, r1, r2, r3
@ class mul_add
mla r0, r1, r2, r3
mls r0, r1, r2, r3
@ class long_mul
smull r0, r1, r2, r3
umull r0, r1, r2, r3
smlal r0, r1, r2, r3
umlal r0, r1, r2, r3
smlald r0, r1, r2, r3
umaal r0, r1, r2, r3
@ class div
sdiv r0, r1, r2
udiv r0, r1, r2
@ class load
ldr r0, 9f
ldr r0, [r1, #4]
ldr r0, [sp, #4]
ldr r0, [r1, r2]
ldr.w r0, [r1, r2, lsl #2]
ldr r0, [r1], #4
ldr r0, [r1, #4]!
ldr r0, [r1, #-4]
ldrb r0, [r1]
ldrb r0, [r1, r2]
ldrsb r0, [r1, r2]
ldrsb.w r0, [r1, #4]
ldrh r0, [r1]
ldrsh r0, [r1, r2]
ldrex r0, [r1]
vldr s0, [r0]
vldr d0, [r0]
@ class store
str r0, [sp, #4]
str r0, [r1, r2]
strb r0, [r1]
strh.w r0, [r1], #2
strh r0, [r1, #2]
strb r0, [r1, r2]
str.w r9, [r1, #400]
strex r0, r1, [r2]
vstr s0, [r0]
@ class load_pair
ldrd r0, r1, [r2]
ldrd r0, r1, [r2], #8
ldrd r0, r1, [r2, #-16]
@ class store_pair
strd r0, r1, [r2], #8
strd r0, r1, [r2]
@ class load_many
ldm r0, {r1, r2}
ldmia.w r0!, {r1, r2, r9}
pop {r4, pc}
pop.w {r4-r11, pc}
vpop {d8-d15}
vldmia r0!, {s0-s3}
vldmia r0, {s0-s3}
@ class store_many
stm r0!, {r1, r2}
stmdb sp!, {r4-r11, lr}
push {r4, lr}
vpush {d8-d15}
vstmia r0!, {s0-s3}
@ class branch
cbz r0, 8f
cbnz r1, 8f
beq 8f
beq.w 8f
b.w 8f
b 8f
8:
@ class call
bl 9f
@ class jump
bx lr
blx r3
mov pc, lr
tbb [pc, r0]
tbh [pc, r0, lsl #1]
@ class system
msr basepri, r0
mrs r0, basepri
dsb
isb
dmb
cpsid i
svc 0
bkpt 0
udf 0
@ class float
vadd.f32 s0, s1, s2
vsub.f32 s0, s1, s2
vmul.f32 s0, s1, s2
vnmul.f32 s0, s1, s2
vcvt.s32.f32 s0, s1
vcmp.f32 s0, s1
vcmp.f32 s0, #0.0
vmrs r0, fpscr
vmsr fpscr, r0
vmov.f32 s0, s1
vmov.f32 s0, #1.0
vneg.f32 s0, s1
vabs.f32 s0, s1
vmov s1, r0
vmov r0, s1
vmov r0, r1, d3
vmov d3, r0, r1
@ class float_mac
vmla.f32 s0, s1, s2
vmls.f32 s0, s1, s2
vnmla.f32 s0, s1, s2
vnmls.f32 s0, s1, s2
vfma.f32 s0, s1, s2
vfms.f32 s0, s1, s2
vfnma.f32 s0, s1, s2
vfnms.f32 s0, s1, s2
@ class float_div
vdiv.f32 s0, s1, s2
vsqrt.f32 s0, s1
.align 2
9:
