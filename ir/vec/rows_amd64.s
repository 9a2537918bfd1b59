/* SPDX-License-Identifier: Apache-2.0 */
#include "textflag.h"

// Rows of 8 elements and more are copied 8 at a time, those of 4 and more 4 at a time, the last
// ones of a row by a copy that begins among those before; no others are read or written.

// func rows1(rows, n, pitch, apart int, dst, src *float32)
TEXT ·rows1(SB), NOSPLIT, $0-48
	MOVQ rows+0(FP), CX
	MOVQ n+8(FP), BX
	MOVQ pitch+16(FP), R8
	MOVQ apart+24(FP), R9
	MOVQ dst+32(FP), DI
	MOVQ src+40(FP), SI
	SHLQ $2, R8
	SHLQ $2, R9
	CMPQ BX, $4
	JLT  few
	SUBQ $8, BX
	JLT  four

eight:
	XORQ AX, AX

eights:
	VMOVUPS (SI)(AX*4), Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, BX
	JLT     eights
	VMOVUPS (SI)(BX*4), Y0
	VMOVUPS Y0, (DI)(BX*4)
	ADDQ    R9, SI
	ADDQ    R8, DI
	DECQ    CX
	JNZ     eight
	VZEROUPPER
	RET

four:
	ADDQ $4, BX

fours:
	MOVUPS (SI), X0
	MOVUPS (SI)(BX*4), X1
	MOVUPS X0, (DI)
	MOVUPS X1, (DI)(BX*4)
	ADDQ   R9, SI
	ADDQ   R8, DI
	DECQ   CX
	JNZ    fours
	RET

few:
	XORQ AX, AX

ones:
	MOVL (SI)(AX*4), DX
	MOVL DX, (DI)(AX*4)
	INCQ AX
	CMPQ AX, BX
	JLT  ones
	ADDQ R9, SI
	ADDQ R8, DI
	DECQ CX
	JNZ  few
	RET

// func rows2(rows, n, pitch, apart int, dst, src *float32)
TEXT ·rows2(SB), NOSPLIT, $0-48
	MOVQ rows+0(FP), CX
	MOVQ n+8(FP), BX
	MOVQ pitch+16(FP), R8
	MOVQ apart+24(FP), R9
	MOVQ dst+32(FP), DI
	MOVQ src+40(FP), SI
	SHLQ $2, R8
	SHLQ $2, R9
	CMPQ BX, $4
	JLT  fewApart
	SUBQ $8, BX
	JLT  fourApart

eightApart:
	XORQ AX, AX

eightsApart:
	VMOVUPS (SI)(AX*8), Y0
	VSHUFPS $0xD8, 28(SI)(AX*8), Y0, Y0
	VPERMPD $0xD8, Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, BX
	JLT     eightsApart
	VMOVUPS (SI)(BX*8), Y0
	VSHUFPS $0xD8, 28(SI)(BX*8), Y0, Y0
	VPERMPD $0xD8, Y0, Y0
	VMOVUPS Y0, (DI)(BX*4)
	ADDQ    R9, SI
	ADDQ    R8, DI
	DECQ    CX
	JNZ     eightApart
	VZEROUPPER
	RET

fourApart:
	ADDQ $4, BX

foursApart:
	VMOVUPS (SI), X0
	VSHUFPS $0xD8, 12(SI), X0, X0
	VMOVUPS (SI)(BX*8), X1
	VSHUFPS $0xD8, 12(SI)(BX*8), X1, X1
	VMOVUPS X0, (DI)
	VMOVUPS X1, (DI)(BX*4)
	ADDQ    R9, SI
	ADDQ    R8, DI
	DECQ    CX
	JNZ     foursApart
	RET

fewApart:
	XORQ AX, AX

onesApart:
	MOVL (SI)(AX*8), DX
	MOVL DX, (DI)(AX*4)
	INCQ AX
	CMPQ AX, BX
	JLT  onesApart
	ADDQ R9, SI
	ADDQ R8, DI
	DECQ CX
	JNZ  fewApart
	RET
