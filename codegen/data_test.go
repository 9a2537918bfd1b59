// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/program"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

var included = regexp.MustCompile(`(?:#include "|\.incbin \\")([^"\\]+)`)

// TestIncludedData: whatever size weights and accelerator programs have, the
// files that the emitted sources include are there, and no others.
func TestIncludedData(t *testing.T) {
	for _, weights := range []int{0, 70000, 300000} {
		for _, image := range []int{1000, 200000, 300000} {
			m := &model{prefix: "data"}
			var err error
			m.prog, err = program.Parse(fmt.Sprintf(`program "data" {
				arena 16, bound 16
				buffer %%x : i8[16] at 0, 16 bytes, steps 0 to 0
				input "x" = %%x
				output "y" = %%x
				step 0 %%x = Custom(-) "a"
					call nncc_fill(null, const0, const1, out0:void)
				const 0 "weights" uint8_t = u8[%d] splat 1
				const 1 "program" file "lm" uint8_t = u8[%d] splat 2
			}`, weights, image))
			testenv.OK(t, err)
			m.emit(t)
			var want, got []string
			for _, f := range m.files {
				if slices.Contains([]string{"data_weights.bin", "data_weights.inc", "data_0.lm", "data_0.lm.inc"},
					f.Path) {
					got = append(got, f.Path)
				}
			}
			for _, name := range []string{"data_weights.c", "data_images.c"} {
				for _, x := range included.FindAllStringSubmatch(m.file(name), -1) {
					if !strings.HasSuffix(x[1], ".h") {
						want = append(want, x[1])
					}
				}
			}
			slices.Sort(want)
			slices.Sort(got)
			testenv.Check(t, slices.Equal(want, got), "weights %d, program %d: sources include %v, the folder has %v",
				weights, image, want, got)
		}
	}
}
