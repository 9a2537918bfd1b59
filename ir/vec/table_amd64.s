/* SPDX-License-Identifier: Apache-2.0 */
#include "textflag.h"

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
	VPCMPEQD   Y6, Y6, Y6
	VXORPS     Y5, Y5, Y5
	VGATHERDPS Y6, (R8)(Y4*4), Y5
	VMOVUPS    Y5, (DI)
	ADDQ       $32, SI
	ADDQ       $32, DI
	SUBQ       $8, CX
	JNZ        entries
	VZEROUPPER
	RET
