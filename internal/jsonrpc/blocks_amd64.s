//go:build !noasm

#include "textflag.h"

// FILL sets the 16 bytes of x to the one that v repeats.
#define FILL(v, x) \
	MOVQ v, AX \
	MOVQ AX, x \
	PUNPCKLQDQ x, x

// EQUAL compares the block in X0 to X3 with x, into X4 to X7.
#define EQUAL(x) \
	MOVO X0, X4 \
	MOVO X1, X5 \
	MOVO X2, X6 \
	MOVO X3, X7 \
	PCMPEQB x, X4 \
	PCMPEQB x, X5 \
	PCMPEQB x, X6 \
	PCMPEQB x, X7

// COMPARE compares the block at SI+DX with X8, into X4 to X7, and with X9, into
// X0 to X3.
#define COMPARE \
	MOVOU (SI)(DX*1), X0 \
	MOVOU 16(SI)(DX*1), X1 \
	MOVOU 32(SI)(DX*1), X2 \
	MOVOU 48(SI)(DX*1), X3 \
	EQUAL(X8) \
	PCMPEQB X9, X0 \
	PCMPEQB X9, X1 \
	PCMPEQB X9, X2 \
	PCMPEQB X9, X3

// ANY clears the zero flag when COMPARE found something.
#define ANY \
	MOVO X4, X10 \
	POR X5, X10 \
	POR X6, X10 \
	POR X7, X10 \
	POR X0, X10 \
	POR X1, X10 \
	POR X2, X10 \
	POR X3, X10 \
	PMOVMSKB X10, AX \
	TESTL AX, AX

// GATHER makes one bit of each byte of a, b, c and d.
#define GATHER(a, b, c, d, out) \
	PMOVMSKB a, out \
	PMOVMSKB b, BX \
	PMOVMSKB c, R8 \
	PMOVMSKB d, R9 \
	SHLQ $16, BX \
	SHLQ $32, R8 \
	SHLQ $48, R9 \
	ORQ BX, out \
	ORQ R9, R8 \
	ORQ R8, out

// func blockMasks(p *[64]byte) (quotes, slashes, opens, closes uint64)
TEXT ·blockMasks(SB), NOSPLIT, $0-40
	MOVQ p+0(FP), SI
	FILL($0x2222222222222222, X8) // "
	FILL($0x5c5c5c5c5c5c5c5c, X9) // backslash
	FILL($0x7b7b7b7b7b7b7b7b, X10) // {, and [ with the bit of X12
	FILL($0x7d7d7d7d7d7d7d7d, X11) // }, and ]
	FILL($0x2020202020202020, X12)
	MOVOU (SI), X0
	MOVOU 16(SI), X1
	MOVOU 32(SI), X2
	MOVOU 48(SI), X3
	EQUAL(X8)
	GATHER(X4, X5, X6, X7, AX)
	MOVQ AX, quotes+8(FP)
	EQUAL(X9)
	GATHER(X4, X5, X6, X7, AX)
	MOVQ AX, slashes+16(FP)
	POR X12, X0
	POR X12, X1
	POR X12, X2
	POR X12, X3
	EQUAL(X10)
	GATHER(X4, X5, X6, X7, AX)
	MOVQ AX, opens+24(FP)
	EQUAL(X11)
	GATHER(X4, X5, X6, X7, AX)
	MOVQ AX, closes+32(FP)
	RET

// LESS adds to out the bytes of in that are less than X11.
#define LESS(in, out) \
	MOVO X11, X10 \
	PCMPGTB in, X10 \
	POR X10, out

// func stopMask(p *[64]byte) (stops uint64)
TEXT ·stopMask(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	FILL($0x2222222222222222, X8) // "
	FILL($0x5c5c5c5c5c5c5c5c, X9) // backslash
	FILL($0x2020202020202020, X11) // signed, so bytes from 0x80 are less
	CMPB ·wide(SB), $0
	JNE wide
	MOVOU (SI), X0
	MOVOU 16(SI), X1
	MOVOU 32(SI), X2
	MOVOU 48(SI), X3
	EQUAL(X8)
	LESS(X0, X4)
	LESS(X1, X5)
	LESS(X2, X6)
	LESS(X3, X7)
	PCMPEQB X9, X0
	PCMPEQB X9, X1
	PCMPEQB X9, X2
	PCMPEQB X9, X3
	POR X0, X4
	POR X1, X5
	POR X2, X6
	POR X3, X7
	GATHER(X4, X5, X6, X7, AX)
	MOVQ AX, stops+8(FP)
	RET

wide:
	VPBROADCASTQ X8, Y8
	VPBROADCASTQ X9, Y9
	VPBROADCASTQ X11, Y11
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VPCMPEQB Y0, Y8, Y4
	VPCMPEQB Y1, Y8, Y5
	VPCMPEQB Y0, Y9, Y6
	VPCMPEQB Y1, Y9, Y7
	VPOR Y4, Y6, Y4
	VPOR Y5, Y7, Y5
	VPCMPGTB Y0, Y11, Y6
	VPCMPGTB Y1, Y11, Y7
	VPOR Y4, Y6, Y4
	VPOR Y5, Y7, Y5
	VPMOVMSKB Y4, AX
	VPMOVMSKB Y5, BX
	SHLQ $32, BX
	ORQ BX, AX
	VZEROUPPER
	MOVQ AX, stops+8(FP)
	RET

// ESCAPES takes the quotes that are escaped out of AX, given the backslashes in DI
// and in R10 whether the first byte is escaped, as it then is for the next block.
// It is what escapes does.
#define ESCAPES \
	MOVQ R10, BX \
	NOTQ BX \
	ANDQ BX, DI \
	LEAQ (R10)(DI*2), R8 \
	MOVQ R8, R9 \
	NOTQ R9 \
	ANDQ R11, R9 \
	ANDQ DI, R9 \
	XORQ R10, R10 \
	ADDQ DI, R9 \
	ADCQ $0, R10 \
	ADDQ R9, R9 \
	XORQ R12, R9 \
	ANDQ R8, R9 \
	NOTQ R9 \
	ANDQ R9, AX

// WIDE is COMPARE with Y8, into Y4 and Y5, and with Y9, into Y6 and Y7. It clears
// the zero flag when it found something.
#define WIDE \
	VMOVDQU (SI)(DX*1), Y0 \
	VMOVDQU 32(SI)(DX*1), Y1 \
	VPCMPEQB Y0, Y8, Y4 \
	VPCMPEQB Y1, Y8, Y5 \
	VPCMPEQB Y0, Y9, Y6 \
	VPCMPEQB Y1, Y9, Y7 \
	VPOR Y4, Y5, Y2 \
	VPOR Y6, Y7, Y3 \
	VPOR Y2, Y3, Y2 \
	VPTEST Y2, Y2

// func unescapedQuote(p *byte, n int) (done int, quotes, escaped uint64)
TEXT ·unescapedQuote(SB), NOSPLIT, $0-40
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	XORQ DX, DX
	XORQ R10, R10 // whether the first byte of the block is escaped
	FILL($0x2222222222222222, X8)
	FILL($0x5c5c5c5c5c5c5c5c, X9)
	MOVQ $0xaaaaaaaaaaaaaaaa, R11
	MOVQ $0x5555555555555555, R12
	SUBQ $64, CX
	CMPB ·wide(SB), $0
	JNE wide

next:
	CMPQ DX, CX
	JGT none
	COMPARE
	ANY
	JNZ hit
	XORQ R10, R10
	ADDQ $64, DX
	JMP next

hit:
	GATHER(X4, X5, X6, X7, AX)
	GATHER(X0, X1, X2, X3, DI)
	ESCAPES
	JNZ found
	ADDQ $64, DX
	JMP next

none:
	XORQ AX, AX

found:
	MOVQ DX, done+16(FP)
	MOVQ AX, quotes+24(FP)
	MOVQ R10, escaped+32(FP)
	RET

wide:
	VPBROADCASTQ X8, Y8
	VPBROADCASTQ X9, Y9

nextWide:
	CMPQ DX, CX
	JGT noneWide
	WIDE
	JNZ hitWide
	XORQ R10, R10
	ADDQ $64, DX
	JMP nextWide

hitWide:
	VPMOVMSKB Y4, AX
	VPMOVMSKB Y5, BX
	VPMOVMSKB Y6, DI
	VPMOVMSKB Y7, R8
	SHLQ $32, BX
	SHLQ $32, R8
	ORQ BX, AX
	ORQ R8, DI
	ESCAPES
	JNZ foundWide
	ADDQ $64, DX
	JMP nextWide

noneWide:
	XORQ AX, AX

foundWide:
	VZEROUPPER
	JMP found

// func plainBlocks(p *byte, n int) (done int)
TEXT ·plainBlocks(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	XORQ DX, DX
	FILL($0x0a0a0a0a0a0a0a0a, X8)
	FILL($0x0d0d0d0d0d0d0d0d, X9)
	SUBQ $64, CX
	CMPB ·wide(SB), $0
	JNE wide

next:
	CMPQ DX, CX
	JGT done
	COMPARE
	ANY
	JNZ done
	ADDQ $64, DX
	JMP next

done:
	MOVQ DX, done+16(FP)
	RET

wide:
	VPBROADCASTQ X8, Y8
	VPBROADCASTQ X9, Y9

nextWide:
	CMPQ DX, CX
	JGT doneWide
	WIDE
	JNZ doneWide
	ADDQ $64, DX
	JMP nextWide

doneWide:
	VZEROUPPER
	JMP done
