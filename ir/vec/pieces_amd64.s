/* SPDX-License-Identifier: Apache-2.0 */
#include "textflag.h"

// The four coefficients of an element lie one behind the other: they are loaded as they are, and
// those of eight elements transposed, which takes a third of what gathers do.
//
// func pieces8(n int, scale float32, half int, parts *[4]float32, x, y *float32) (done int)
TEXT ·pieces8(SB), NOSPLIT, $0-56
	MOVQ         n+0(FP), CX
	VBROADCASTSS scale+8(FP), Y15
	MOVQ         half+16(FP), AX
	MOVQ         parts+24(FP), SI
	MOVQ         x+32(FP), DX
	MOVQ         y+40(FP), DI
	VMOVD        AX, X14
	VPBROADCASTD X14, Y14       // half, an integer
	VCVTDQ2PS    Y14, Y13
	VXORPS       Y12, Y12, Y12
	VSUBPS       Y13, Y12, Y11  // -half
	VPCMPEQD     Y10, Y10, Y10
	VPSRLD       $25, Y10, Y10
	VPSLLD       $23, Y10, Y10  // 1

piece:
	VMULPS    (DX), Y15, Y0
	VCMPPS    $13, Y11, Y0, Y1  // at least -half
	VCMPPS    $1, Y13, Y0, Y2   // below half
	VANDPS    Y2, Y1, Y1
	VMOVMSKPS Y1, AX
	CMPL      AX, $255
	JNE       end

	VADDPS     Y13, Y0, Y1
	VCVTTPS2DQ Y1, Y1           // the piece
	VPSUBD     Y14, Y1, Y2
	VCVTDQ2PS  Y2, Y2
	VSUBPS     Y2, Y0, Y2       // where in it
	VCMPPS     $1, Y12, Y2, Y3  // the one before
	VPADDD     Y3, Y1, Y1
	VADDPS     Y10, Y2, Y4
	VBLENDVPS  Y3, Y4, Y2, Y0

	VPSLLD       $4, Y1, Y1
	VEXTRACTI128 $1, Y1, X2
	VMOVQ        X1, AX
	VPEXTRQ      $1, X1, BX
	VMOVQ        X2, R8
	VPEXTRQ      $1, X2, R9
	MOVL         AX, R10
	SHRQ         $32, AX
	MOVL         BX, R11
	SHRQ         $32, BX
	MOVL         R8, R12
	SHRQ         $32, R8
	MOVL         R9, R13
	SHRQ         $32, R9
	VMOVUPS      (SI)(R10*1), X1
	VMOVUPS      (SI)(AX*1), X2
	VMOVUPS      (SI)(R11*1), X3
	VMOVUPS      (SI)(BX*1), X4
	VINSERTF128  $1, (SI)(R12*1), Y1, Y1
	VINSERTF128  $1, (SI)(R8*1), Y2, Y2
	VINSERTF128  $1, (SI)(R13*1), Y3, Y3
	VINSERTF128  $1, (SI)(R9*1), Y4, Y4
	VUNPCKLPS    Y2, Y1, Y5
	VUNPCKHPS    Y2, Y1, Y6
	VUNPCKLPS    Y4, Y3, Y7
	VUNPCKHPS    Y4, Y3, Y8
	VUNPCKLPD    Y7, Y5, Y1     // constants
	VUNPCKHPD    Y7, Y5, Y2
	VUNPCKLPD    Y8, Y6, Y3
	VUNPCKHPD    Y8, Y6, Y4

	VMULPS  Y0, Y4, Y4
	VADDPS  Y3, Y4, Y4
	VMULPS  Y0, Y4, Y4
	VADDPS  Y2, Y4, Y4
	VMULPS  Y0, Y4, Y4
	VADDPS  Y1, Y4, Y4
	VMOVUPS Y4, (DI)
	ADDQ    $32, DX
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNZ     piece

end:
	MOVQ n+0(FP), AX
	SUBQ CX, AX
	MOVQ AX, done+48(FP)
	VZEROUPPER
	RET
