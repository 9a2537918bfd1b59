/* SPDX-License-Identifier: Apache-2.0 */
#include "textflag.h"

// All of these multiply, round, then add: a fused multiply-add would give other bits.

#define ROW(a, c0, c1) \
	VMULPD Y8, a, Y14   \
	VADDPD Y14, c0, c0  \
	VMULPD Y9, a, Y15   \
	VADDPD Y15, c1, c1

// func tile4x8(k int, a, b, c *float64, ldc int)
TEXT ·tile4x8(SB), NOSPLIT, $0-40
	MOVQ k+0(FP), CX
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DI
	MOVQ c+24(FP), R8
	MOVQ ldc+32(FP), R9
	SHLQ $3, R9
	LEAQ (R8)(R9*1), R10
	LEAQ (R8)(R9*2), R11
	LEAQ (R10)(R9*2), R12
	VMOVUPD (R8), Y0
	VMOVUPD 32(R8), Y1
	VMOVUPD (R10), Y2
	VMOVUPD 32(R10), Y3
	VMOVUPD (R11), Y4
	VMOVUPD 32(R11), Y5
	VMOVUPD (R12), Y6
	VMOVUPD 32(R12), Y7

loop8:
	VMOVUPD (DI), Y8
	VMOVUPD 32(DI), Y9
	VBROADCASTSD (SI), Y10
	VBROADCASTSD 8(SI), Y11
	VBROADCASTSD 16(SI), Y12
	VBROADCASTSD 24(SI), Y13
	ROW(Y10, Y0, Y1)
	ROW(Y11, Y2, Y3)
	ROW(Y12, Y4, Y5)
	ROW(Y13, Y6, Y7)
	ADDQ $64, DI
	ADDQ $32, SI
	DECQ CX
	JNZ  loop8

	VMOVUPD Y0, (R8)
	VMOVUPD Y1, 32(R8)
	VMOVUPD Y2, (R10)
	VMOVUPD Y3, 32(R10)
	VMOVUPD Y4, (R11)
	VMOVUPD Y5, 32(R11)
	VMOVUPD Y6, (R12)
	VMOVUPD Y7, 32(R12)
	VZEROUPPER
	RET

#define ROWZ(a, c0, c1) \
	VMULPD Z8, a, Z14   \
	VADDPD Z14, c0, c0  \
	VMULPD Z9, a, Z15   \
	VADDPD Z15, c1, c1

// func tile4x16(k int, a, b, c *float64, ldc int)
TEXT ·tile4x16(SB), NOSPLIT, $0-40
	MOVQ k+0(FP), CX
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), DI
	MOVQ c+24(FP), R8
	MOVQ ldc+32(FP), R9
	SHLQ $3, R9
	LEAQ (R8)(R9*1), R10
	LEAQ (R8)(R9*2), R11
	LEAQ (R10)(R9*2), R12
	VMOVUPD (R8), Z0
	VMOVUPD 64(R8), Z1
	VMOVUPD (R10), Z2
	VMOVUPD 64(R10), Z3
	VMOVUPD (R11), Z4
	VMOVUPD 64(R11), Z5
	VMOVUPD (R12), Z6
	VMOVUPD 64(R12), Z7

loop16:
	VMOVUPD (DI), Z8
	VMOVUPD 64(DI), Z9
	VBROADCASTSD (SI), Z10
	VBROADCASTSD 8(SI), Z11
	VBROADCASTSD 16(SI), Z12
	VBROADCASTSD 24(SI), Z13
	ROWZ(Z10, Z0, Z1)
	ROWZ(Z11, Z2, Z3)
	ROWZ(Z12, Z4, Z5)
	ROWZ(Z13, Z6, Z7)
	ADDQ $128, DI
	ADDQ $32, SI
	DECQ CX
	JNZ  loop16

	VMOVUPD Z0, (R8)
	VMOVUPD Z1, 64(R8)
	VMOVUPD Z2, (R10)
	VMOVUPD Z3, 64(R10)
	VMOVUPD Z4, (R11)
	VMOVUPD Z5, 64(R11)
	VMOVUPD Z6, (R12)
	VMOVUPD Z7, 64(R12)
	VZEROUPPER
	RET

// func lanes4(n int, x, r0, r1, r2, r3 *float64, sums *[4][4]float64)
TEXT ·lanes4(SB), NOSPLIT, $0-56
	MOVQ   n+0(FP), CX
	MOVQ   x+8(FP), SI
	MOVQ   r0+16(FP), R8
	MOVQ   r1+24(FP), R9
	MOVQ   r2+32(FP), R10
	MOVQ   r3+40(FP), R11
	MOVQ   sums+48(FP), DI
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	XORQ   AX, AX

lanes:
	VMOVUPD (SI)(AX*8), Y4
	VMULPD  (R8)(AX*8), Y4, Y5
	VADDPD  Y5, Y0, Y0
	VMULPD  (R9)(AX*8), Y4, Y6
	VADDPD  Y6, Y1, Y1
	VMULPD  (R10)(AX*8), Y4, Y7
	VADDPD  Y7, Y2, Y2
	VMULPD  (R11)(AX*8), Y4, Y8
	VADDPD  Y8, Y3, Y3
	ADDQ    $4, AX
	CMPQ    AX, CX
	JLT     lanes

	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, 64(DI)
	VMOVUPD Y3, 96(DI)
	VZEROUPPER
	RET

// func axpy4(n int, f float64, x, y *float64)
TEXT ·axpy4(SB), NOSPLIT, $0-32
	MOVQ         n+0(FP), CX
	VBROADCASTSD f+8(FP), Y0
	MOVQ         x+16(FP), SI
	MOVQ         y+24(FP), DI
	XORQ         AX, AX

axpy:
	VMULPD  (SI)(AX*8), Y0, Y1
	VADDPD  (DI)(AX*8), Y1, Y1
	VMOVUPD Y1, (DI)(AX*8)
	ADDQ    $4, AX
	CMPQ    AX, CX
	JLT     axpy
	VZEROUPPER
	RET

// func taps4(n, taps int, w *float64, at *int, x, y *float64)
TEXT ·taps4(SB), NOSPLIT, $0-48
	MOVQ n+0(FP), CX
	MOVQ taps+8(FP), DX
	MOVQ w+16(FP), R8
	MOVQ at+24(FP), R9
	MOVQ x+32(FP), SI
	MOVQ y+40(FP), DI
	SUBQ $16, CX
	JLT  taps4rest

taps16:
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VMOVUPD 64(DI), Y2
	VMOVUPD 96(DI), Y3
	XORQ    AX, AX

tap16:
	MOVQ         (R9)(AX*8), R10
	VBROADCASTSD (R8)(AX*8), Y4
	LEAQ         (SI)(R10*8), R10
	VMULPD       (R10), Y4, Y5
	VADDPD       Y5, Y0, Y0
	VMULPD       32(R10), Y4, Y6
	VADDPD       Y6, Y1, Y1
	VMULPD       64(R10), Y4, Y7
	VADDPD       Y7, Y2, Y2
	VMULPD       96(R10), Y4, Y8
	VADDPD       Y8, Y3, Y3
	INCQ         AX
	CMPQ         AX, DX
	JLT          tap16
	VMOVUPD      Y0, (DI)
	VMOVUPD      Y1, 32(DI)
	VMOVUPD      Y2, 64(DI)
	VMOVUPD      Y3, 96(DI)
	ADDQ         $128, SI
	ADDQ         $128, DI
	SUBQ         $16, CX
	JGE          taps16

taps4rest:
	ADDQ $16, CX
	JZ   taps4end

taps4loop:
	VMOVUPD (DI), Y0
	XORQ    AX, AX

tap4:
	MOVQ         (R9)(AX*8), R10
	VBROADCASTSD (R8)(AX*8), Y4
	VMULPD       (SI)(R10*8), Y4, Y5
	VADDPD       Y5, Y0, Y0
	INCQ         AX
	CMPQ         AX, DX
	JLT          tap4
	VMOVUPD      Y0, (DI)
	ADDQ         $32, SI
	ADDQ         $32, DI
	SUBQ         $4, CX
	JNZ          taps4loop

taps4end:
	VZEROUPPER
	RET

// func widen(n int, x *float32, y *float64, skip, run int)
TEXT ·widen(SB), NOSPLIT, $0-40
	MOVQ n+0(FP), CX
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DI
	MOVQ skip+24(FP), R8
	MOVQ run+32(FP), R9
	MOVQ R9, R10

widen8:
	VCVTPS2PD (SI), Y0
	VCVTPS2PD 16(SI), Y1
	VMOVUPD   Y0, (DI)
	VMOVUPD   Y1, 32(DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	DECQ      R10
	JNZ       widen8next
	ADDQ      R8, DI
	MOVQ      R9, R10

widen8next:
	DECQ CX
	JNZ  widen8
	VZEROUPPER
	RET
