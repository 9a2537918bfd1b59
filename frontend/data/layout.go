// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir"
)

// layoutOf is how a model's input of rank 4 lies: by its extents, channels are the
// fewest; "" where they do not say.
func layoutOf(shape []int) string {
	if len(shape) != 4 {
		return ""
	}
	if last := shape[3]; last <= 4 && (shape[1] > 4 || last < shape[1] && shape[1] != shape[2]) {
		return "nhwc"
	}
	return "nchw"
}

// turn is the permutation from the other layout to that of a type.
func turn(t ir.Type) []int {
	if layoutOf(t.Shape) == "nhwc" {
		return []int{0, 2, 3, 1}
	}
	return []int{0, 3, 1, 2}
}

// Turned is the shape of a sample for input v in a layout that is not the model's;
// nil: it is, or nothing is declared (""), or the input has another rank than 4.
func Turned(v *ir.Value, layout string) []int {
	if own := layoutOf(v.Type.Shape); layout == "" || own == "" || own == layout {
		return nil
	}
	return other(v.Type)
}

// other is the type's shape in the other layout.
func other(t ir.Type) []int {
	out := make([]int, len(t.Shape))
	for i, from := range turn(t) {
		out[from] = t.Shape[i]
	}
	return out
}

// LooksLike says, as the end of a message about an array's shape, in which layout it
// would be right; "" for none.
func LooksLike(v *ir.Value, shape []int) string {
	own := layoutOf(v.Type.Shape)
	if own == "" {
		return ""
	}
	turned := other(v.Type)
	if slices.Equal(turned, v.Type.Shape) || count(shape, turned) == 0 {
		return ""
	}
	name := "nhwc"
	if own == name {
		name = "nchw"
	}
	return fmt.Sprintf(". It looks like %s: the model wants %s (%s); transpose it, or say --preprocess layout=%s",
		strings.ToUpper(name), shapeText(v.Type.Shape), strings.ToUpper(own), name)
}
