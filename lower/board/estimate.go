// SPDX-License-Identifier: Apache-2.0

package board

import (
	"bytes"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/option"
)

// sourcePerByte is what emitted C becomes, as it was measured on networks of 3 to
// 105 steps on four cores: a byte of code or constants for nine to twelve of the source's.
const sourcePerByte = 9

// The most that kernels were seen to take of newlib, beside what copies and divides:
// arithmetic in float or double, by the floating point unit, and mathematical functions.
var (
	libraryBytes = 1 << 10
	floatLibrary = map[string]int{"dp": 1 << 10, "sp": 3 << 10, "none": 9 << 10}
	mathLibrary  = 4 << 10
	floatHeader  = []byte(`#include "nncc_fp.h"`) // of kernels that compute in float
	mathHeader   = []byte("#include <math.h>")
)

// EstimateCode is the code of a program, given by its C files, before there is a build:
// kernels (in nncc/) by the table of their sizes, which were compiled one by one.
func EstimateCode(s *boards.Spec, optimize option.Optimize, sources map[string][]byte) boards.Item {
	target := cost.Target{ISA: ISA(s), Size: optimize == option.Size}
	size := target.SourceBytes()
	sum, library, float, math := 0, libraryBytes, false, false
	for path, data := range sources {
		name, kernel := strings.CutPrefix(path, "nncc/")
		float = float || kernel && bytes.Contains(data, floatHeader)
		math = math || kernel && bytes.Contains(data, mathHeader)
		if !strings.HasSuffix(path, ".c") {
			continue
		}
		n, known := size[name]
		if !known {
			n = len(data) / sourcePerByte
		}
		sum += n
	}
	if float {
		library += floatLibrary[s.ISA.FPU]
	}
	if math {
		library += mathLibrary
	}
	return boards.Item{What: "code", Bytes: uint64(sum + library), Library: uint64(library), Estimated: true}
}
