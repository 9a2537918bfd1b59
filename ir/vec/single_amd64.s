/* SPDX-License-Identifier: Apache-2.0 */
#include "textflag.h"

// Products of float32: multiplied, rounded, then added. Results are clamped: the maximum
// (minimum) of a bound and not a number is its second operand, the number.

// func tileSingle16(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32, ldc int)
TEXT ·tileSingle16(SB), NOSPLIT, $0-72
	MOVQ         k+0(FP), CX
	MOVQ         a+8(FP), SI
	MOVQ         at+16(FP), R9
	MOVQ         b+24(FP), DI
	MOVQ         row+32(FP), R11
	MOVQ         col+40(FP), R12
	MOVQ         c+56(FP), R8
	MOVQ         ldc+64(FP), DX
	SHLQ         $2, DX
	VMOVUPS      (R12), Y8
	VMOVUPS      32(R12), Y9
	VBROADCASTSS (R11), Y10
	VADDPS       Y8, Y10, Y0
	VADDPS       Y9, Y10, Y1
	VBROADCASTSS 4(R11), Y10
	VADDPS       Y8, Y10, Y2
	VADDPS       Y9, Y10, Y3
	VBROADCASTSS 8(R11), Y10
	VADDPS       Y8, Y10, Y4
	VADDPS       Y9, Y10, Y5
	VBROADCASTSS 12(R11), Y10
	VADDPS       Y8, Y10, Y6
	VADDPS       Y9, Y10, Y7

tileSingle16next:
	MOVQ         (R9), R10
	LEAQ         (DI)(R10*4), R10
	VMOVUPS      (R10), Y8
	VMOVUPS      32(R10), Y9
	VBROADCASTSS (SI), Y10
	VBROADCASTSS 4(SI), Y11
	VBROADCASTSS 8(SI), Y12
	VBROADCASTSS 12(SI), Y13
	VMULPS       Y8, Y10, Y14
	VADDPS       Y14, Y0, Y0
	VMULPS       Y9, Y10, Y15
	VADDPS       Y15, Y1, Y1
	VMULPS       Y8, Y11, Y14
	VADDPS       Y14, Y2, Y2
	VMULPS       Y9, Y11, Y15
	VADDPS       Y15, Y3, Y3
	VMULPS       Y8, Y12, Y14
	VADDPS       Y14, Y4, Y4
	VMULPS       Y9, Y12, Y15
	VADDPS       Y15, Y5, Y5
	VMULPS       Y8, Y13, Y14
	VADDPS       Y14, Y6, Y6
	VMULPS       Y9, Y13, Y15
	VADDPS       Y15, Y7, Y7
	ADDQ         $8, R9
	ADDQ         $16, SI
	DECQ         CX
	JNZ          tileSingle16next

	VBROADCASTSS lo+48(FP), Y8
	VBROADCASTSS hi+52(FP), Y9
	VMAXPS       Y0, Y8, Y0
	VMINPS       Y0, Y9, Y0
	VMAXPS       Y1, Y8, Y1
	VMINPS       Y1, Y9, Y1
	VMAXPS       Y2, Y8, Y2
	VMINPS       Y2, Y9, Y2
	VMAXPS       Y3, Y8, Y3
	VMINPS       Y3, Y9, Y3
	VMAXPS       Y4, Y8, Y4
	VMINPS       Y4, Y9, Y4
	VMAXPS       Y5, Y8, Y5
	VMINPS       Y5, Y9, Y5
	VMAXPS       Y6, Y8, Y6
	VMINPS       Y6, Y9, Y6
	VMAXPS       Y7, Y8, Y7
	VMINPS       Y7, Y9, Y7
	VMOVUPS      Y0, (R8)
	VMOVUPS      Y1, 32(R8)
	ADDQ         DX, R8
	VMOVUPS      Y2, (R8)
	VMOVUPS      Y3, 32(R8)
	ADDQ         DX, R8
	VMOVUPS      Y4, (R8)
	VMOVUPS      Y5, 32(R8)
	ADDQ         DX, R8
	VMOVUPS      Y6, (R8)
	VMOVUPS      Y7, 32(R8)
	VZEROUPPER
	RET

// func tileSingle32(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32, ldc int)
TEXT ·tileSingle32(SB), NOSPLIT, $0-72
	MOVQ         k+0(FP), CX
	MOVQ         a+8(FP), SI
	MOVQ         at+16(FP), R9
	MOVQ         b+24(FP), DI
	MOVQ         row+32(FP), R11
	MOVQ         col+40(FP), R12
	MOVQ         c+56(FP), R8
	MOVQ         ldc+64(FP), DX
	SHLQ         $2, DX
	VMOVUPS      (R12), Z8
	VMOVUPS      64(R12), Z9
	VBROADCASTSS (R11), Z10
	VADDPS       Z8, Z10, Z0
	VADDPS       Z9, Z10, Z1
	VBROADCASTSS 4(R11), Z10
	VADDPS       Z8, Z10, Z2
	VADDPS       Z9, Z10, Z3
	VBROADCASTSS 8(R11), Z10
	VADDPS       Z8, Z10, Z4
	VADDPS       Z9, Z10, Z5
	VBROADCASTSS 12(R11), Z10
	VADDPS       Z8, Z10, Z6
	VADDPS       Z9, Z10, Z7

tileSingle32next:
	MOVQ         (R9), R10
	LEAQ         (DI)(R10*4), R10
	VMOVUPS      (R10), Z8
	VMOVUPS      64(R10), Z9
	VBROADCASTSS (SI), Z10
	VBROADCASTSS 4(SI), Z11
	VBROADCASTSS 8(SI), Z12
	VBROADCASTSS 12(SI), Z13
	VMULPS       Z8, Z10, Z14
	VADDPS       Z14, Z0, Z0
	VMULPS       Z9, Z10, Z15
	VADDPS       Z15, Z1, Z1
	VMULPS       Z8, Z11, Z14
	VADDPS       Z14, Z2, Z2
	VMULPS       Z9, Z11, Z15
	VADDPS       Z15, Z3, Z3
	VMULPS       Z8, Z12, Z14
	VADDPS       Z14, Z4, Z4
	VMULPS       Z9, Z12, Z15
	VADDPS       Z15, Z5, Z5
	VMULPS       Z8, Z13, Z14
	VADDPS       Z14, Z6, Z6
	VMULPS       Z9, Z13, Z15
	VADDPS       Z15, Z7, Z7
	ADDQ         $8, R9
	ADDQ         $16, SI
	DECQ         CX
	JNZ          tileSingle32next

	VBROADCASTSS lo+48(FP), Z8
	VBROADCASTSS hi+52(FP), Z9
	VMAXPS       Z0, Z8, Z0
	VMINPS       Z0, Z9, Z0
	VMAXPS       Z1, Z8, Z1
	VMINPS       Z1, Z9, Z1
	VMAXPS       Z2, Z8, Z2
	VMINPS       Z2, Z9, Z2
	VMAXPS       Z3, Z8, Z3
	VMINPS       Z3, Z9, Z3
	VMAXPS       Z4, Z8, Z4
	VMINPS       Z4, Z9, Z4
	VMAXPS       Z5, Z8, Z5
	VMINPS       Z5, Z9, Z5
	VMAXPS       Z6, Z8, Z6
	VMINPS       Z6, Z9, Z6
	VMAXPS       Z7, Z8, Z7
	VMINPS       Z7, Z9, Z7
	VMOVUPS      Z0, (R8)
	VMOVUPS      Z1, 64(R8)
	ADDQ         DX, R8
	VMOVUPS      Z2, (R8)
	VMOVUPS      Z3, 64(R8)
	ADDQ         DX, R8
	VMOVUPS      Z4, (R8)
	VMOVUPS      Z5, 64(R8)
	ADDQ         DX, R8
	VMOVUPS      Z6, (R8)
	VMOVUPS      Z7, 64(R8)
	VZEROUPPER
	RET

// func rowSingle32(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32)
TEXT ·rowSingle32(SB), NOSPLIT, $0-64
	MOVQ         k+0(FP), CX
	MOVQ         a+8(FP), SI
	MOVQ         at+16(FP), R9
	MOVQ         b+24(FP), DI
	MOVQ         row+32(FP), R11
	MOVQ         col+40(FP), R12
	MOVQ         c+56(FP), R8
	VBROADCASTSS (R11), Y4
	VADDPS       (R12), Y4, Y0
	VADDPS       32(R12), Y4, Y1
	VADDPS       64(R12), Y4, Y2
	VADDPS       96(R12), Y4, Y3

rowSingle32next:
	MOVQ         (R9), R10
	LEAQ         (DI)(R10*4), R10
	VBROADCASTSS (SI), Y4
	VMULPS       (R10), Y4, Y5
	VADDPS       Y5, Y0, Y0
	VMULPS       32(R10), Y4, Y6
	VADDPS       Y6, Y1, Y1
	VMULPS       64(R10), Y4, Y7
	VADDPS       Y7, Y2, Y2
	VMULPS       96(R10), Y4, Y8
	VADDPS       Y8, Y3, Y3
	ADDQ         $8, R9
	ADDQ         $4, SI
	DECQ         CX
	JNZ          rowSingle32next

	VBROADCASTSS lo+48(FP), Y8
	VBROADCASTSS hi+52(FP), Y9
	VMAXPS       Y0, Y8, Y0
	VMINPS       Y0, Y9, Y0
	VMOVUPS      Y0, (R8)
	VMAXPS       Y1, Y8, Y1
	VMINPS       Y1, Y9, Y1
	VMOVUPS      Y1, 32(R8)
	VMAXPS       Y2, Y8, Y2
	VMINPS       Y2, Y9, Y2
	VMOVUPS      Y2, 64(R8)
	VMAXPS       Y3, Y8, Y3
	VMINPS       Y3, Y9, Y3
	VMOVUPS      Y3, 96(R8)
	VZEROUPPER
	RET

// func rowSingle64(k int, a *float32, at *int, b, row, col *float32, lo, hi float32, c *float32)
TEXT ·rowSingle64(SB), NOSPLIT, $0-64
	MOVQ         k+0(FP), CX
	MOVQ         a+8(FP), SI
	MOVQ         at+16(FP), R9
	MOVQ         b+24(FP), DI
	MOVQ         row+32(FP), R11
	MOVQ         col+40(FP), R12
	MOVQ         c+56(FP), R8
	VBROADCASTSS (R11), Z4
	VADDPS       (R12), Z4, Z0
	VADDPS       64(R12), Z4, Z1
	VADDPS       128(R12), Z4, Z2
	VADDPS       192(R12), Z4, Z3

rowSingle64next:
	MOVQ         (R9), R10
	LEAQ         (DI)(R10*4), R10
	VBROADCASTSS (SI), Z4
	VMULPS       (R10), Z4, Z5
	VADDPS       Z5, Z0, Z0
	VMULPS       64(R10), Z4, Z6
	VADDPS       Z6, Z1, Z1
	VMULPS       128(R10), Z4, Z7
	VADDPS       Z7, Z2, Z2
	VMULPS       192(R10), Z4, Z8
	VADDPS       Z8, Z3, Z3
	ADDQ         $8, R9
	ADDQ         $4, SI
	DECQ         CX
	JNZ          rowSingle64next

	VBROADCASTSS lo+48(FP), Z8
	VBROADCASTSS hi+52(FP), Z9
	VMAXPS       Z0, Z8, Z0
	VMINPS       Z0, Z9, Z0
	VMOVUPS      Z0, (R8)
	VMAXPS       Z1, Z8, Z1
	VMINPS       Z1, Z9, Z1
	VMOVUPS      Z1, 64(R8)
	VMAXPS       Z2, Z8, Z2
	VMINPS       Z2, Z9, Z2
	VMOVUPS      Z2, 128(R8)
	VMAXPS       Z3, Z8, Z3
	VMINPS       Z3, Z9, Z3
	VMOVUPS      Z3, 192(R8)
	VZEROUPPER
	RET
