// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"slices"

	"github.com/nncc/nncc/lower/kernel"
)

// Kernels are all rows.
var Kernels = slices.Concat(elementRows(), reduceRows(), normRows(), matrixRows(), windowRows(), moveRows(),
	sampleRows(), quantRows(), detectRows(), classicalRows(), recurrentRows(), imageRows(),
	[]*kernel.Kernel{Fused})
