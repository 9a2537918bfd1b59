// SPDX-License-Identifier: Apache-2.0

// Package reference holds the rows that turn operators into calls of nncc's own C
// kernels (runtime_c/include/nncc): float32 for everything, int8 for what
// CMSIS-NN lacks, data movement for any element size, and views without code.
// It is the last resort of kernel choice. See README.md.
package reference

import (
	"slices"

	"github.com/nncc/nncc/lower/kernel"
)

// Kernels are all rows, better ones first where several take an operator.
var Kernels = slices.Concat(
	viewKernels(),
	dataKernels(),
	quantizeKernels(),
	[]*kernel.Kernel{tableRow, castRow, clipRow},
	binaryKernels(),
	packedKernels(),
	convKernels(),
	poolKernels(),
	[]*kernel.Kernel{sparseRow, packedProductRow, fullyConnectedRow, batchMatMulRow, gemmRow},
	axisKernels(),
	reduceKernels(),
	normKernels(),
	resizeKernels(),
	[]*kernel.Kernel{spectrumRow, svdfRow, resizeFixedRow, signalFFTRow, detectionsRow},
	spaceKernels(),
	indexKernels(),
	rnnKernels(),
	integerRecurrent(),
	macS8Kernels(),
	axisS8Kernels(),
	[]*kernel.Kernel{channelRow, pairRow, constRow},
	[]*kernel.Kernel{linesRow, curveRow, pair16Row, reduceSum16Row, conv16Row, tconv16Row},
)
