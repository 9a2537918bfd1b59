// SPDX-License-Identifier: Apache-2.0

#include "textflag.h"

// bound is beyond what int8 with any zero point holds.
DATA bound<>+0(SB)/4, $1024.0
DATA bound<>+4(SB)/4, $-1024.0
GLOBL bound<>(SB), RODATA|NOPTR, $8

// order puts the quarters of packed lanes back into their order.
DATA order<>+0(SB)/4, $0
DATA order<>+4(SB)/4, $4
DATA order<>+8(SB)/4, $1
DATA order<>+12(SB)/4, $5
DATA order<>+16(SB)/4, $2
DATA order<>+20(SB)/4, $6
DATA order<>+24(SB)/4, $3
DATA order<>+28(SB)/4, $7
GLOBL order<>(SB), RODATA|NOPTR, $32

// QUANTISE8 is eight numbers as int32: not a number is masked to 0.
#define QUANTISE8(at, r, mask) \
	VMOVUPS   at(SI), r;      \
	VDIVPS    Y15, r, r;      \
	VCMPPS    $7, r, r, mask; \
	VANDPS    mask, r, r;     \
	VMINPS    Y13, r, r;      \
	VMAXPS    Y12, r, r;      \
	VCVTPS2DQ r, r;           \
	VPADDD    Y14, r, r

// func quantise(n int, scale float32, zero int32, x *float32, y *int8)
TEXT ·quantise(SB), NOSPLIT, $0-32
	MOVQ         n+0(FP), CX
	VBROADCASTSS scale+8(FP), Y15
	MOVL         zero+12(FP), AX
	VMOVD        AX, X14
	VPBROADCASTD X14, Y14
	MOVQ         x+16(FP), SI
	MOVQ         y+24(FP), DI
	VBROADCASTSS bound<>+0(SB), Y13
	VBROADCASTSS bound<>+4(SB), Y12
	VMOVDQU      order<>(SB), Y11

quantise32:
	QUANTISE8(0, Y0, Y4)
	QUANTISE8(32, Y1, Y5)
	QUANTISE8(64, Y2, Y6)
	QUANTISE8(96, Y3, Y7)
	VPACKSSDW Y1, Y0, Y0
	VPACKSSDW Y3, Y2, Y2
	VPACKSSWB Y2, Y0, Y0
	VPERMD    Y0, Y11, Y0
	VMOVDQU   Y0, (DI)
	ADDQ      $128, SI
	ADDQ      $32, DI
	SUBQ      $32, CX
	JNZ       quantise32
	VZEROUPPER
	RET

// func dequantise(n int, scale float32, zero int32, x *int8, y *float32)
TEXT ·dequantise(SB), NOSPLIT, $0-32
	MOVQ         n+0(FP), CX
	VBROADCASTSS scale+8(FP), Y15
	MOVL         zero+12(FP), AX
	VMOVD        AX, X14
	VPBROADCASTD X14, Y14
	MOVQ         x+16(FP), SI
	MOVQ         y+24(FP), DI

dequantise16:
	VPMOVSXBD (SI), Y0
	VPMOVSXBD 8(SI), Y1
	VPSUBD    Y14, Y0, Y0
	VPSUBD    Y14, Y1, Y1
	VCVTDQ2PS Y0, Y0
	VCVTDQ2PS Y1, Y1
	VMULPS    Y15, Y0, Y0
	VMULPS    Y15, Y1, Y1
	VMOVUPS   Y0, (DI)
	VMOVUPS   Y1, 32(DI)
	ADDQ      $16, SI
	ADDQ      $64, DI
	SUBQ      $16, CX
	JNZ       dequantise16
	VZEROUPPER
	RET
