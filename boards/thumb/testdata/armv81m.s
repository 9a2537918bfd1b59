@ SPDX-License-Identifier: Apache-2.0
@ One instruction a line, behind the class that it belongs to: cortex-m55.
.syntax unified
.thumb
@ class vec_mul
vmladava.s8 r0, q0, q1
vmladava.s16 r0, q0, q1
vmladava.s32 r2, q0, q1
vmladav.u8 r0, q0, q1
vmladavax.s8 r0, q0, q1
vmlaldava.s16 r0, r1, q0, q1
vrmlaldavha.s32 r0, r1, q0, q1
vmlsdava.s8 r0, q0, q1
vmul.i16 q0, q1, q2
vmul.i32 q0, q1, r2
vmul.f32 q0, q1, r2
vmul.f32 q0, q1, q2
vfma.f32 q0, q1, r2
vfma.f32 q0, q1, q2
vfms.f32 q0, q1, q2
vfmas.f32 q0, q1, r2
vmla.s8 q0, q1, r2
vmlas.s8 q0, q1, r2
vqrdmulh.s32 q0, q1, r2
vqrdmulh.s32 q0, q1, q2
vqdmulh.s32 q0, q1, r2
vqrdmlah.s32 q0, q1, r2
vqdmlah.s32 q0, q1, r2
vmullb.s8 q0, q1, q2
vmullt.u8 q0, q1, q2
vmulh.s8 q0, q1, q2
vrmulh.u8 q0, q1, q2
vqdmullb.s16 q0, q1, q2
vqdmullb.s16 q0, q1, r2
vqdmladh.s8 q0, q1, q2
vqrdmladh.s8 q0, q1, q2
vcmul.f32 q0, q1, q2, #0
vcmla.f32 q0, q1, q2, #0
vabav.s8 r0, q0, q1
@ class vec_alu
vadd.i32 q0, q1, q2
vadd.i32 q0, q1, r2
vsub.i32 q0, q1, r2
vhadd.s8 q0, q1, r2
vhsub.u8 q0, q1, r2
vhadd.s8 q0, q1, q2
vrhadd.s8 q0, q1, q2
vqadd.s8 q0, q1, r2
vqsub.u8 q0, q1, r2
vqadd.s8 q0, q1, q2
vaddv.s8 r0, q0
vaddva.s32 r0, q0
vaddlva.s32 r0, r1, q0
vmaxv.s8 r0, q0
vminv.s8 r0, q0
vmaxav.s8 r0, q0
vmax.s8 q0, q1, q2
vmin.s32 q0, q1, q2
vrshl.s32 q0, q1, q2
vrshl.s32 q0, r2
vshl.s32 q0, r2
vshl.i32 q0, q1, #3
vshr.s32 q0, q1, #3
vrshr.s32 q0, q1, #3
vqrshl.s32 q0, r2
vmovlb.s8 q0, q1
vmovlt.u16 q0, q1
vmovnb.i16 q0, q1
vqmovnb.s16 q0, q1
vqmovunb.s16 q0, q1
vqrshrnb.s32 q0, q1, #3
vrshrnb.i32 q0, q1, #3
vshllb.s8 q0, q1, #3
vshlc q0, r1, #3
vorr q0, q1, q2
vmov q0, q1
veor q0, q1, q2
vand q0, q1, q2
vbic q0, q1, q2
vbic.i32 q0, #3
vmvn q0, q1
vmov.i32 q0, #3
vabs.s8 q0, q1
vneg.s8 q0, q1
vqneg.s8 q0, q1
vabd.s8 q0, q1, q2
vcls.s8 q0, q1
vclz.i8 q0, q1
vrev64.8 q0, q1
vrev16.8 q0, q1
vcmp.s8 gt, q0, q1
vcmp.s8 gt, q0, r1
vcmp.f32 gt, q0, r1
vpsel q0, q1, q2
vpst
vaddt.i32 q0, q1, q2
vpt.s8 gt, q0, q1
vaddt.i32 q0, q1, q2
vpnot
vctp.8 r1
vdup.8 q0, r1
vdup.32 q0, r1
vdup.16 q0, r1
viwdup.u8 q0, r2, r3, #1
vidup.u8 q0, r2, #1
vddup.u8 q0, r2, #1
vadc.i32 q0, q1, q2
vadci.i32 q0, q1, q2
vsbc.i32 q0, q1, q2
vadd.f32 q0, q1, q2
vadd.f32 q0, q1, r2
vsub.f32 q0, q1, q2
vcvt.f32.s32 q0, q1
vcvt.s32.f32 q0, q1
vcvt.f32.s32 q0, q1, #3
vrintn.f32 q0, q1
vabs.f32 q0, q1
vmaxnm.f32 q0, q1, q2
vmaxnmv.f32 r0, q0
vabd.f32 q0, q1, q2
vbrsr.8 q0, q1, r2
vhcadd.s8 q0, q1, q2, #90
vcadd.f32 q0, q1, q2, #90
vcadd.i8 q0, q1, q2, #90
vsri.8 q0, q1, #3
vsli.8 q0, q1, #3
vqshlu.s8 q0, q1, #3
vqshl.s8 q0, q1, #3
vmaxa.s8 q0, q1
vmina.s8 q0, q1
@ class vec_load
vldrw.32 q0, [r1]
vldrw.32 q0, [r1], #16
vldrw.32 q0, [r1, #16]!
vldrb.8 q0, [r1]
vldrb.s16 q0, [r1]
vldrb.s32 q0, [r1], #4
vldrb.u32 q0, [r1, #-4]
vldrh.s32 q0, [r1]
vldrb.u16 q0, [r1]
vld20.8 {q0, q1}, [r1]
vld21.8 {q0, q1}, [r1]!
vld40.8 {q0, q1, q2, q3}, [r1]
@ class vec_store
vstrb.8 q0, [r1]
vstrb.16 q0, [r1], #8
vstrb.32 q0, [r1]
vstrh.32 q0, [r1]
vstrw.32 q0, [r1, #-16]
vst20.8 {q0, q1}, [r1]
vst43.32 {q0, q1, q2, q3}, [r1]
@ class gather
vldrb.u8 q0, [r1, q2]
vldrb.u16 q0, [r1, q2]
vldrb.s32 q0, [r1, q2]
vldrw.u32 q0, [r1, q2]
vldrw.u32 q0, [r1, q2, uxtw #2]
vldrd.u64 q0, [r1, q2]
vstrb.8 q0, [r1, q2]
vstrw.32 q0, [r1, q2]
vldrw.u32 q0, [q1]
vldrw.u32 q0, [q1, #4]
vldrw.u32 q0, [q1, #4]!
vldrd.u64 q0, [q1]
vstrw.32 q0, [q1]
@ class loop_start
dls lr, r1
dlstp.8 lr, r1
wls lr, r1, 2f
wlstp.8 lr, r1, 2f
@ class loop
1:
le lr, 1b
letp lr, 1b
2:
@ class alu
csel r0, r1, r2, eq
csinc r0, r1, r2, ne
lsll r0, r1, #3
asrl r0, r1, r2
sqrshr r0, r2
@ class float
vmov r1, r2, q0[2], q0[0]
vmov q0[2], q0[0], r1, r2
vmov.32 r0, q0[1]
vmov.s8 r0, q0[1]
vmov.8 q0[1], r0
vmov.32 q0[1], r0
vselgt.f32 s0, s1, s2
vmaxnm.f32 s0, s1, s2
vrinta.f32 s0, s1
