/* SPDX-License-Identifier: Apache-2.0 */
#include "textflag.h"

// func accumulate8(n int, x *float32, sums *float64)
TEXT ·accumulate8(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), CX
	MOVQ x+8(FP), SI
	MOVQ sums+16(FP), DI

accumulate:
	VCVTPS2PD (SI), Y0
	VCVTPS2PD 16(SI), Y1
	VADDPD    (DI), Y0, Y0
	VADDPD    32(DI), Y1, Y1
	VMOVUPD   Y0, (DI)
	VMOVUPD   Y1, 32(DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	SUBQ      $8, CX
	JNZ       accumulate
	VZEROUPPER
	RET

// The minimum (maximum) of a number that is none and another is its second operand, which
// comes first here: what was found before.
//
// func extent8(n int, x *float32, e *extent)
TEXT ·extent8(SB), NOSPLIT, $0-24
	MOVQ     n+0(FP), CX
	MOVQ     x+8(FP), SI
	MOVQ     e+16(FP), DI
	VPCMPEQD Y0, Y0, Y0
	VPSLLD   $24, Y0, Y0
	VPSRLD   $1, Y0, Y0       // infinity
	VPCMPEQD Y1, Y1, Y1
	VPSLLD   $23, Y1, Y1      // -infinity
	VXORPS   Y2, Y2, Y2
	VXORPS   Y3, Y3, Y3

extents:
	VMOVUPS (SI), Y4
	VMINPS  Y0, Y4, Y0
	VMAXPS  Y1, Y4, Y1
	VSUBPS  Y4, Y4, Y5
	VCMPPS  $4, Y3, Y5, Y5    // not equal, or no number
	VORPS   Y5, Y2, Y2
	ADDQ    $32, SI
	SUBQ    $8, CX
	JNZ     extents

	VMOVUPS   Y0, (DI)
	VMOVUPS   Y1, 32(DI)
	VMOVMSKPS Y2, AX
	MOVL      AX, 64(DI)
	VZEROUPPER
	RET

// func bins8(n int, lo, hi, scale float32, x *float32, at *int32) (zeros int)
TEXT ·bins8(SB), NOSPLIT, $0-48
	MOVQ         n+0(FP), CX
	VBROADCASTSS lo+8(FP), Y15
	VBROADCASTSS hi+12(FP), Y14
	VBROADCASTSS scale+16(FP), Y13
	MOVQ         x+24(FP), SI
	MOVQ         at+32(FP), DI
	VXORPS       Y12, Y12, Y12
	XORQ         DX, DX

bins:
	VMOVUPS    (SI), Y0
	VCMPPS     $0, Y12, Y0, Y1
	VMOVMSKPS  Y1, AX
	POPCNTL    AX, AX
	ADDQ       AX, DX
	VMAXPS     Y15, Y0, Y0
	VMINPS     Y14, Y0, Y0
	VMULPS     Y13, Y0, Y0
	VROUNDPS   $1, Y0, Y0     // down
	VCVTTPS2DQ Y0, Y0
	VMOVDQU    Y0, (DI)
	ADDQ       $32, SI
	ADDQ       $32, DI
	SUBQ       $8, CX
	JNZ        bins
	MOVQ       DX, zeros+40(FP)
	VZEROUPPER
	RET

// func noise8(n int, want, got *float32, signal, err *[8]float64)
TEXT ·noise8(SB), NOSPLIT, $0-40
	MOVQ   n+0(FP), CX
	MOVQ   want+8(FP), SI
	MOVQ   got+16(FP), R8
	MOVQ   signal+24(FP), DI
	MOVQ   err+32(FP), R9
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4

noises:
	VMOVUPS      (SI), Y5
	VSUBPS       Y5, Y5, Y6
	VCMPPS       $0, Y4, Y6, Y6     // finite
	VANDPS       Y6, Y5, Y5
	VANDPS       (R8), Y6, Y7
	VEXTRACTF128 $1, Y5, X8
	VEXTRACTF128 $1, Y7, X9
	VCVTPS2PD    X5, Y5
	VCVTPS2PD    X7, Y7
	VCVTPS2PD    X8, Y8
	VCVTPS2PD    X9, Y9
	VSUBPD       Y7, Y5, Y7
	VSUBPD       Y9, Y8, Y9
	VMULPD       Y5, Y5, Y5
	VADDPD       Y5, Y0, Y0
	VMULPD       Y8, Y8, Y8
	VADDPD       Y8, Y1, Y1
	VMULPD       Y7, Y7, Y7
	VADDPD       Y7, Y2, Y2
	VMULPD       Y9, Y9, Y9
	VADDPD       Y9, Y3, Y3
	ADDQ         $32, SI
	ADDQ         $32, R8
	SUBQ         $8, CX
	JNZ          noises

	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, (R9)
	VMOVUPD Y3, 32(R9)
	VZEROUPPER
	RET

// Columns are summed up 8 at a time, or 4; the last ones begin among those before.
//
// func sumRows(rows, n, apart int, x *float32, sums *float64)
TEXT ·sumRows(SB), NOSPLIT, $0-40
	MOVQ rows+0(FP), R8
	MOVQ n+8(FP), BX
	MOVQ apart+16(FP), R9
	MOVQ x+24(FP), SI
	MOVQ sums+32(FP), DI
	SHLQ $2, R9
	XORQ AX, AX
	CMPQ BX, $4
	JLT  column
	SUBQ $8, BX
	JLT  columns4

columns8:
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	LEAQ   (SI)(AX*4), DX
	MOVQ   R8, CX

rows8:
	VCVTPS2PD (DX), Y2
	VCVTPS2PD 16(DX), Y3
	VADDPD    Y2, Y0, Y0
	VADDPD    Y3, Y1, Y1
	ADDQ      R9, DX
	DECQ      CX
	JNZ       rows8
	VMOVUPD   Y0, (DI)(AX*8)
	VMOVUPD   Y1, 32(DI)(AX*8)
	CMPQ      AX, BX
	JEQ       summed
	ADDQ      $8, AX
	CMPQ      AX, BX
	JLT       columns8
	MOVQ      BX, AX
	JMP       columns8

columns4:
	ADDQ $4, BX

again4:
	VXORPD Y0, Y0, Y0
	LEAQ   (SI)(AX*4), DX
	MOVQ   R8, CX

rows4:
	VCVTPS2PD (DX), Y2
	VADDPD    Y2, Y0, Y0
	ADDQ      R9, DX
	DECQ      CX
	JNZ       rows4
	VMOVUPD   Y0, (DI)(AX*8)
	CMPQ      AX, BX
	MOVQ      BX, AX
	JNE       again4

summed:
	VZEROUPPER
	RET

column:
	XORPS X0, X0
	LEAQ  (SI)(AX*4), DX
	MOVQ  R8, CX

row:
	CVTSS2SD (DX), X1
	ADDSD    X1, X0
	ADDQ     R9, DX
	DECQ     CX
	JNZ      row
	MOVSD    X0, (DI)(AX*8)
	INCQ     AX
	CMPQ     AX, BX
	JLT      column
	RET
