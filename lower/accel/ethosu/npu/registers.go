// SPDX-License-Identifier: Apache-2.0

package npu

// reg is a register that a stream sets: its code, with wide where a second word follows.
type reg uint16

const wide = 0x4000

const (
	padTop, padLeft, padRight, padBottom                 reg = 0x100, 0x101, 0x102, 0x103
	ifmDepth, ifmPrecision, ifmUpscale, ifmZero          reg = 0x104, 0x105, 0x107, 0x109
	ifmWidth0, ifmHeight0, ifmHeight1, ifmEnd, ifmRegion reg = 0x10A, 0x10B, 0x10C, 0x10D, 0x10F
	ofmWidth, ofmHeight, ofmDepth, ofmPrecision          reg = 0x111, 0x112, 0x113, 0x114
	blockWidth, blockHeight, blockDepth, ofmZero         reg = 0x115, 0x116, 0x117, 0x118
	ofmWidth0, ofmHeight0, ofmHeight1, ofmRegion         reg = 0x11A, 0x11B, 0x11C, 0x11F
	kernelWidth, kernelHeight, kernelStride, parallel    reg = 0x120, 0x121, 0x122, 0x123
	accFormat, activation, activationMin, activationMax  reg = 0x124, 0x125, 0x126, 0x127
	weightRegion, scaleRegion, accStart, blockDepend     reg = 0x128, 0x129, 0x12D, 0x12F
	dmaFrom, dmaTo, dmaSize0, dmaSize1                   reg = 0x130, 0x131, 0x132, 0x133
	ifm2Broadcast, ifm2Scalar, ifm2Precision, ifm2Zero   reg = 0x180, 0x181, 0x185, 0x189
	ifm2Width0, ifm2Height0, ifm2Height1                 reg = 0x18A, 0x18B, 0x18C
	ifm2Start, ifm2Region                                reg = 0x18D, 0x18F

	ifmBase, ifmStrideX, ifmStrideY, ifmStrideC          reg = wide, wide | 4, wide | 5, wide | 6
	ofmBase, ofmStrideX, ofmStrideY, ofmStrideC          reg = wide | 0x10, wide | 0x14, wide | 0x15, wide | 0x16
	weightBase, weightLength, scaleBase, scaleLength     reg = wide | 0x20, wide | 0x21, wide | 0x22, wide | 0x23
	ofmScale, opaScale, opbScale                         reg = wide | 0x24, wide | 0x25, wide | 0x26
	dmaSource, dmaTarget, dmaLength, dmaSkip0            reg = wide | 0x30, wide | 0x31, wide | 0x32, wide | 0x33
	dmaSkip1                                             reg = wide | 0x34
	ifm2Base, ifm2StrideX, ifm2StrideY, ifm2StrideC      reg = wide | 0x80, wide | 0x84, wide | 0x85, wide | 0x86
	weight1Base, weight1Length, scale1Base, scale1Length reg = wide | 0x90, wide | 0x91, wide | 0x92, wide | 0x93
)

// width is what a register holds: numbers without a sign up to most, with one where it is below 0.
type width struct {
	name string
	most int64
}

const (
	word16  = 0xFFFF
	signed  = -1 // of 16 bits
	address = -2 // or a distance between addresses: as wide as the bus
	scaled  = -3 // 32 bits and a shift
)

// registers are all that there are, with the bits that they have.
var registers = map[reg]width{
	padTop: {"IFM_PAD_TOP", 127}, padLeft: {"IFM_PAD_LEFT", 127},
	padRight: {"IFM_PAD_RIGHT", 255}, padBottom: {"IFM_PAD_BOTTOM", 255},
	ifmDepth: {"IFM_DEPTH_M1", word16}, ifmPrecision: {"IFM_PRECISION", 0x3FF}, ifmUpscale: {"IFM_UPSCALE", 2},
	ifmZero: {"IFM_ZERO_POINT", signed}, ifmWidth0: {"IFM_WIDTH0_M1", word16},
	ifmHeight0: {"IFM_HEIGHT0_M1", word16}, ifmHeight1: {"IFM_HEIGHT1_M1", word16},
	ifmEnd: {"IFM_IB_END", 63}, ifmRegion: {"IFM_REGION", 7},
	ofmWidth: {"OFM_WIDTH_M1", word16}, ofmHeight: {"OFM_HEIGHT_M1", word16}, ofmDepth: {"OFM_DEPTH_M1", word16},
	ofmPrecision: {"OFM_PRECISION", word16}, blockWidth: {"OFM_BLK_WIDTH_M1", 63},
	blockHeight: {"OFM_BLK_HEIGHT_M1", 31}, blockDepth: {"OFM_BLK_DEPTH_M1", 127},
	ofmZero: {"OFM_ZERO_POINT", signed}, ofmWidth0: {"OFM_WIDTH0_M1", word16},
	ofmHeight0: {"OFM_HEIGHT0_M1", word16}, ofmHeight1: {"OFM_HEIGHT1_M1", word16}, ofmRegion: {"OFM_REGION", 7},
	kernelWidth: {"KERNEL_WIDTH_M1", word16}, kernelHeight: {"KERNEL_HEIGHT_M1", word16},
	kernelStride: {"KERNEL_STRIDE", 0xFFF}, parallel: {"PARALLEL_MODE", 1}, accFormat: {"ACC_FORMAT", 2},
	activation: {"ACTIVATION", 0x701F}, activationMin: {"ACTIVATION_MIN", signed},
	activationMax: {"ACTIVATION_MAX", signed}, weightRegion: {"WEIGHT_REGION", 7},
	scaleRegion: {"SCALE_REGION", 7}, accStart: {"AB_START", 63}, blockDepend: {"BLOCKDEP", maxDepend},
	dmaFrom: {"DMA0_SRC_REGION", 0x7FF}, dmaTo: {"DMA0_DST_REGION", 0x7FF}, dmaSize0: {"DMA0_SIZE0", word16},
	dmaSize1: {"DMA0_SIZE1", word16}, ifm2Broadcast: {"IFM2_BROADCAST", 0xC7}, ifm2Scalar: {"IFM2_SCALAR", word16},
	ifm2Precision: {"IFM2_PRECISION", 0x3FF}, ifm2Zero: {"IFM2_ZERO_POINT", signed},
	ifm2Width0: {"IFM2_WIDTH0_M1", word16}, ifm2Height0: {"IFM2_HEIGHT0_M1", word16},
	ifm2Height1: {"IFM2_HEIGHT1_M1", word16}, ifm2Start: {"IFM2_IB_START", 63}, ifm2Region: {"IFM2_REGION", 7},

	ifmBase: {"IFM_BASE0", address}, ifmBase + 1: {"IFM_BASE1", address}, ifmBase + 2: {"IFM_BASE2", address},
	ifmBase + 3: {"IFM_BASE3", address}, ifmStrideX: {"IFM_STRIDE_X", address},
	ifmStrideY: {"IFM_STRIDE_Y", address}, ifmStrideC: {"IFM_STRIDE_C", address},
	ofmBase: {"OFM_BASE0", address}, ofmBase + 1: {"OFM_BASE1", address}, ofmBase + 2: {"OFM_BASE2", address},
	ofmBase + 3: {"OFM_BASE3", address}, ofmStrideX: {"OFM_STRIDE_X", address},
	ofmStrideY: {"OFM_STRIDE_Y", address}, ofmStrideC: {"OFM_STRIDE_C", address},
	weightBase: {"WEIGHT_BASE", address}, weightLength: {"WEIGHT_LENGTH", address},
	scaleBase: {"SCALE_BASE", address}, scaleLength: {"SCALE_LENGTH", 1<<20 - 1},
	ofmScale: {"OFM_SCALE", scaled}, opaScale: {"OPA_SCALE", scaled}, opbScale: {"OPB_SCALE", scaled},
	dmaSource: {"DMA0_SRC", address}, dmaTarget: {"DMA0_DST", address}, dmaLength: {"DMA0_LEN", address},
	dmaSkip0: {"DMA0_SKIP0", address}, dmaSkip1: {"DMA0_SKIP1", address},
	ifm2Base: {"IFM2_BASE0", address}, ifm2Base + 1: {"IFM2_BASE1", address},
	ifm2Base + 2: {"IFM2_BASE2", address}, ifm2Base + 3: {"IFM2_BASE3", address},
	ifm2StrideX: {"IFM2_STRIDE_X", address}, ifm2StrideY: {"IFM2_STRIDE_Y", address},
	ifm2StrideC: {"IFM2_STRIDE_C", address}, weight1Base: {"WEIGHT1_BASE", address},
	weight1Length: {"WEIGHT1_LENGTH", address}, scale1Base: {"SCALE1_BASE", address},
	scale1Length: {"SCALE1_LENGTH", 1<<20 - 1},
}

// commands that start or end something.
const (
	doStop, doInterrupt, doConv, doDepthwise, doPool, doElementwise = 0x000, 0x001, 0x002, 0x003, 0x005, 0x006
	doDMA, doDMAWait, doKernelWait, doPMU                           = 0x010, 0x011, 0x012, 0x013
)
