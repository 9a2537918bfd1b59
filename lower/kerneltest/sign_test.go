// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/lower/kerneltest"
)

// TestSignsOfNumbers: forms in C with a minus before an attribute that has one itself, which -0.0 has, too.
func TestSignsOfNumbers(t *testing.T) {
	everywhere(t, 8, func(b *kerneltest.Writer) {
		b.Text(fmt.Sprintf("in %%x# : f64[1,%[1]d]\n%%y# : f64[1,%[1]d] = Shrink(%%x#) {lambd=%[2]s, bias=%[3]s}",
			b.In(1, 20), []string{"-0.0", "-0.5", "0.25"}[b.IntN(3)], []string{"-0.0", "-1.5", "2.0"}[b.IntN(3)]), "y#")
	})
}
