/* SPDX-License-Identifier: Apache-2.0 */
#include "textflag.h"

// Products are rounded before they are added, as in Go.

// func roundingError8(n int, by, lo, hi float64, x, w *float64, sums *[8]float64)
TEXT ·roundingError8(SB), NOSPLIT, $0-56
	MOVQ         n+0(FP), CX
	VBROADCASTSD by+8(FP), Y8
	VBROADCASTSD lo+16(FP), Y9
	VBROADCASTSD hi+24(FP), Y10
	MOVQ         x+32(FP), SI
	MOVQ         w+40(FP), DI
	MOVQ         sums+48(FP), R8
	VXORPD       Y0, Y0, Y0
	VXORPD       Y1, Y1, Y1
	XORQ         AX, AX

errors8:
	VMULPD   (SI)(AX*8), Y8, Y2
	VMULPD   32(SI)(AX*8), Y8, Y3
	VROUNDPD $0, Y2, Y4
	VROUNDPD $0, Y3, Y5
	VMAXPD   Y9, Y4, Y4
	VMAXPD   Y9, Y5, Y5
	VMINPD   Y10, Y4, Y4
	VMINPD   Y10, Y5, Y5
	VSUBPD   Y4, Y2, Y2
	VSUBPD   Y5, Y3, Y3
	VMULPD   Y2, Y2, Y2
	VMULPD   Y3, Y3, Y3
	VMULPD   (DI)(AX*8), Y2, Y2
	VMULPD   32(DI)(AX*8), Y3, Y3
	VADDPD   Y2, Y0, Y0
	VADDPD   Y3, Y1, Y1
	ADDQ     $8, AX
	CMPQ     AX, CX
	JLT      errors8
	VMOVUPD  Y0, (R8)
	VMOVUPD  Y1, 32(R8)
	VZEROUPPER
	RET

// func roundingErrors4(n int, scale, lo, hi float64, x, y *float64)
TEXT ·roundingErrors4(SB), NOSPLIT, $0-48
	MOVQ         n+0(FP), CX
	VBROADCASTSD scale+8(FP), Y8
	VBROADCASTSD lo+16(FP), Y9
	VBROADCASTSD hi+24(FP), Y10
	MOVQ         x+32(FP), SI
	MOVQ         y+40(FP), DI
	VXORPD       Y7, Y7, Y7
	XORQ         AX, AX

errors4:
	VMOVUPD  (SI)(AX*8), Y0
	VDIVPD   Y8, Y0, Y1
	VROUNDPD $0, Y1, Y1
	VMAXPD   Y9, Y1, Y1
	VMINPD   Y10, Y1, Y1
	VADDPD   Y7, Y1, Y1      // no -0
	VMULPD   Y8, Y1, Y1
	VSUBPD   Y0, Y1, Y1
	VMOVUPD  Y1, (DI)(AX*8)
	ADDQ     $4, AX
	CMPQ     AX, CX
	JLT      errors4
	VZEROUPPER
	RET

// func clampErrors4(n int, lo, hi float64, x, y *float64)
TEXT ·clampErrors4(SB), NOSPLIT, $0-40
	MOVQ         n+0(FP), CX
	VBROADCASTSD lo+8(FP), Y8
	VBROADCASTSD hi+16(FP), Y9
	MOVQ         x+24(FP), SI
	MOVQ         y+32(FP), DI
	XORQ         AX, AX

clamp4:
	VMOVUPD (SI)(AX*8), Y0
	VSUBPD  Y0, Y8, Y1
	VSUBPD  Y0, Y9, Y2
	VMAXPD  (DI)(AX*8), Y1, Y1
	VMINPD  Y1, Y2, Y1
	VMOVUPD Y1, (DI)(AX*8)
	ADDQ    $4, AX
	CMPQ    AX, CX
	JLT     clamp4
	VZEROUPPER
	RET
