package loops

import (
	"slices"
)

// Kernels are all rows.
var Kernels = slices.Concat(elementRows(), reduceRows(), normRows(), matrixRows(), windowRows(), moveRows(), sampleRows(), quantRows(), detectRows(), classicalRows(), imageRows())
