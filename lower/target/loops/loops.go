package loops

import (
	"slices"
)

// Kernels are all rows.
var Kernels = slices.Concat(elementRows())
