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

// func lanes4Single(n int, x *float64, w *float32, pitch int, sums *[4][4]float64)
TEXT ·lanes4Single(SB), NOSPLIT, $0-40
	MOVQ   n+0(FP), CX
	MOVQ   x+8(FP), SI
	MOVQ   w+16(FP), R8
	MOVQ   pitch+24(FP), DX
	MOVQ   sums+32(FP), DI
	LEAQ   (R8)(DX*1), R9
	LEAQ   (R8)(DX*2), R10
	LEAQ   (R9)(DX*2), R11
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	XORQ   AX, AX

lanesSingle:
	VMOVUPD   (SI)(AX*8), Y4
	VCVTPS2PD (R8)(AX*4), Y5
	VCVTPS2PD (R9)(AX*4), Y6
	VCVTPS2PD (R10)(AX*4), Y7
	VCVTPS2PD (R11)(AX*4), Y8
	VMULPD    Y5, Y4, Y5
	VMULPD    Y6, Y4, Y6
	VMULPD    Y7, Y4, Y7
	VMULPD    Y8, Y4, Y8
	VADDPD    Y5, Y0, Y0
	VADDPD    Y6, Y1, Y1
	VADDPD    Y7, Y2, Y2
	VADDPD    Y8, Y3, Y3
	ADDQ      $4, AX
	CMPQ      AX, CX
	JLT       lanesSingle

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

// func taps4(n, taps int, from float64, w *float64, at *int, x, y *float64)
TEXT ·taps4(SB), NOSPLIT, $0-56
	MOVQ         n+0(FP), CX
	MOVQ         taps+8(FP), DX
	VBROADCASTSD from+16(FP), Y9
	MOVQ         w+24(FP), R8
	MOVQ         at+32(FP), R9
	MOVQ         x+40(FP), SI
	MOVQ         y+48(FP), DI
	SUBQ         $16, CX
	JLT          taps4rest

taps16:
	VMOVAPD Y9, Y0
	VMOVAPD Y9, Y1
	VMOVAPD Y9, Y2
	VMOVAPD Y9, Y3
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
	VMOVAPD Y9, Y0
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

// func taps32(n, taps int, from float64, w *float64, at *int, x, y *float64)
TEXT ·taps32(SB), NOSPLIT, $0-56
	MOVQ         n+0(FP), CX
	MOVQ         taps+8(FP), DX
	VBROADCASTSD from+16(FP), Z9
	MOVQ         w+24(FP), R8
	MOVQ         at+32(FP), R9
	MOVQ         x+40(FP), SI
	MOVQ         y+48(FP), DI

taps32next:
	VMOVAPD Z9, Z0
	VMOVAPD Z9, Z1
	VMOVAPD Z9, Z2
	VMOVAPD Z9, Z3
	XORQ    AX, AX

tap32:
	MOVQ         (R9)(AX*8), R10
	VBROADCASTSD (R8)(AX*8), Z4
	LEAQ         (SI)(R10*8), R10
	VMULPD       (R10), Z4, Z5
	VADDPD       Z5, Z0, Z0
	VMULPD       64(R10), Z4, Z6
	VADDPD       Z6, Z1, Z1
	VMULPD       128(R10), Z4, Z7
	VADDPD       Z7, Z2, Z2
	VMULPD       192(R10), Z4, Z8
	VADDPD       Z8, Z3, Z3
	INCQ         AX
	CMPQ         AX, DX
	JLT          tap32
	VMOVUPD      Z0, (DI)
	VMOVUPD      Z1, 64(DI)
	VMOVUPD      Z2, 128(DI)
	VMOVUPD      Z3, 192(DI)
	ADDQ         $256, SI
	ADDQ         $256, DI
	SUBQ         $32, CX
	JNZ          taps32next
	VZEROUPPER
	RET

// func fill4(n int, v float64, x *float64)
TEXT ·fill4(SB), NOSPLIT, $0-24
	MOVQ         n+0(FP), CX
	VBROADCASTSD v+8(FP), Y0
	MOVQ         x+16(FP), DI

fill4next:
	VMOVUPD Y0, (DI)
	ADDQ    $32, DI
	SUBQ    $4, CX
	JNZ     fill4next
	VZEROUPPER
	RET

// func pack4(n int, r0, r1, r2, r3 *float32, y *float64) (zeros uint32)
TEXT ·pack4(SB), NOSPLIT, $0-52
	MOVQ   n+0(FP), CX
	MOVQ   r0+8(FP), R8
	MOVQ   r1+16(FP), R9
	MOVQ   r2+24(FP), R10
	MOVQ   r3+32(FP), R11
	MOVQ   y+40(FP), DI
	VXORPS X14, X14, X14
	VXORPS X15, X15, X15
	XORQ   AX, AX

pack4next:
	VMOVUPS    (R8)(AX*4), X0
	VMOVUPS    (R9)(AX*4), X1
	VMOVUPS    (R10)(AX*4), X2
	VMOVUPS    (R11)(AX*4), X3
	VCMPPS     $0, X0, X15, X4
	VCMPPS     $0, X1, X15, X5
	VCMPPS     $0, X2, X15, X6
	VCMPPS     $0, X3, X15, X7
	VORPS      X4, X5, X4
	VORPS      X6, X7, X6
	VORPS      X4, X14, X14
	VORPS      X6, X14, X14
	VUNPCKLPS  X1, X0, X4
	VUNPCKHPS  X1, X0, X5
	VUNPCKLPS  X3, X2, X6
	VUNPCKHPS  X3, X2, X7
	VMOVLHPS   X6, X4, X0
	VMOVHLPS   X4, X6, X1
	VMOVLHPS   X7, X5, X2
	VMOVHLPS   X5, X7, X3
	VCVTPS2PD  X0, Y0
	VCVTPS2PD  X1, Y1
	VCVTPS2PD  X2, Y2
	VCVTPS2PD  X3, Y3
	VMOVUPD    Y0, (DI)
	VMOVUPD    Y1, 32(DI)
	VMOVUPD    Y2, 64(DI)
	VMOVUPD    Y3, 96(DI)
	ADDQ       $128, DI
	ADDQ       $4, AX
	CMPQ       AX, CX
	JLT        pack4next
	VMOVMSKPS  X14, AX
	MOVL       AX, zeros+48(FP)
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
