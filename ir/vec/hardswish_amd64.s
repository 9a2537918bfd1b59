/* SPDX-License-Identifier: Apache-2.0 */
#include "textflag.h"

DATA swish<>+0(SB)/8, $3.0
DATA swish<>+8(SB)/8, $6.0
DATA swish<>+16(SB)/8, $1.0
GLOBL swish<>(SB), RODATA|NOPTR, $24

// The minimum (maximum) of a number that is none and another is its second operand, which
// comes first here: such a one stays.
//
// func hardSwish8(n int, x, y *float32)
TEXT ·hardSwish8(SB), NOSPLIT, $0-24
	MOVQ         n+0(FP), CX
	MOVQ         x+8(FP), SI
	MOVQ         y+16(FP), DI
	VBROADCASTSD swish<>+0(SB), Y15
	VBROADCASTSD swish<>+8(SB), Y14
	VBROADCASTSD swish<>+16(SB), Y13
	VXORPD       Y12, Y12, Y12

swishes:
	VCVTPS2PD   (SI), Y0
	VCVTPS2PD   16(SI), Y1
	VADDPD      Y15, Y0, Y2
	VADDPD      Y15, Y1, Y3
	VDIVPD      Y14, Y2, Y2
	VDIVPD      Y14, Y3, Y3
	VMAXPD      Y2, Y12, Y2
	VMAXPD      Y3, Y12, Y3
	VMINPD      Y2, Y13, Y2
	VMINPD      Y3, Y13, Y3
	VMULPD      Y0, Y2, Y0
	VMULPD      Y1, Y3, Y1
	VCVTPD2PSY  Y0, X0
	VCVTPD2PSY  Y1, X1
	VMOVUPS     X0, (DI)
	VMOVUPS     X1, 16(DI)
	ADDQ        $32, SI
	ADDQ        $32, DI
	SUBQ        $8, CX
	JNZ         swishes
	VZEROUPPER
	RET
