/* SPDX-License-Identifier: Apache-2.0 */
#include "textflag.h"

// Entries are loaded one by one: a gather takes longer.
//
// func table8(n int, by float32, first int32, table *[256]float32, x, y *float32)
TEXT ·table8(SB), NOSPLIT, $0-40
	MOVQ         n+0(FP), CX
	VBROADCASTSS by+8(FP), Y0
	MOVL         first+12(FP), AX
	VMOVD        AX, X1
	VPBROADCASTD X1, Y1
	MOVQ         table+16(FP), R8
	MOVQ         x+24(FP), SI
	MOVQ         y+32(FP), DI
	VPCMPEQD     Y2, Y2, Y2
	VPSRLD       $24, Y2, Y2     // 255
	VPXOR        Y3, Y3, Y3

entries:
	VMULPS     (SI), Y0, Y4
	VCVTPS2DQ  Y4, Y4
	VPADDD     Y1, Y4, Y4
	VPMINSD    Y2, Y4, Y4
	VPMAXSD    Y3, Y4, Y4
	VEXTRACTI128 $1, Y4, X5
	VMOVQ      X4, AX
	VPEXTRQ    $1, X4, BX
	VMOVQ      X5, R9
	VPEXTRQ    $1, X5, R10
	MOVL       AX, R11
	SHRQ       $32, AX
	MOVL       BX, R12
	SHRQ       $32, BX
	MOVL       (R8)(R11*4), R11
	MOVL       (R8)(AX*4), AX
	MOVL       (R8)(R12*4), R12
	MOVL       (R8)(BX*4), BX
	MOVL       R11, (DI)
	MOVL       AX, 4(DI)
	MOVL       R12, 8(DI)
	MOVL       BX, 12(DI)
	MOVL       R9, R11
	SHRQ       $32, R9
	MOVL       R10, R12
	SHRQ       $32, R10
	MOVL       (R8)(R11*4), R11
	MOVL       (R8)(R9*4), R9
	MOVL       (R8)(R12*4), R12
	MOVL       (R8)(R10*4), R10
	MOVL       R11, 16(DI)
	MOVL       R9, 20(DI)
	MOVL       R12, 24(DI)
	MOVL       R10, 28(DI)
	ADDQ       $32, SI
	ADDQ       $32, DI
	SUBQ       $8, CX
	JNZ        entries
	VZEROUPPER
	RET
