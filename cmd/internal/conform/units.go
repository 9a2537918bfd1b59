// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"fmt"
	"strings"
)

// units are sources that include kernels, by name: one compiler run for all of a family
// that is made to fit into one. Kernels for single cores are alone: they tell the headers that they
// include what to define, by macros, and share static names. What a unit includes is NAME.inc.
func units(kernels []string) map[string][]byte {
	out := map[string][]byte{}
	for _, k := range kernels {
		name := "alone_" + strings.ReplaceAll(k, "/", "_")
		switch parts := strings.Split(k, "/"); {
		case len(parts) == 2:
			name = "kernels.c"
		case parts[1] == "cmsis_nn":
			name = "library.c"
		}
		out[name] = append(out[name], fmt.Sprintf("#include %q\n", k+".inc")...)
	}
	return out
}
