// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// drawnLayers is how many layers a program of drawn ones has.
const drawnLayers = 24

// TestDrawnFasterThanLibrary: no drawn layer takes more instructions than with
// CMSIS-NN. NNCC_RANDOM=FROM+N draws N programs for each core; of four seeds two are
// int8, one is int16x8 and one has weights of 4 bits.
func TestDrawnFasterThanLibrary(t *testing.T) {
	if testenv.Get("NNCC_RANDOM") == "" {
		t.Skip("NNCC_RANDOM says which programs are drawn")
	}
	from, count := testenv.Range(t, 0)
	for _, core := range compared {
		for seed := from; seed < from+count; seed++ {
			t.Run(fmt.Sprintf("%s/%d", core, seed), func(t *testing.T) {
				set := []func(*driver.Config){nil, nil, func(c *driver.Config) { c.Precision = option.Int16x8 },
					func(c *driver.Config) { c.Weights = option.Int4Weights }}[seed%4]
				fasterThanLibrary(t, core, drawLayers(seed), set)
			})
		}
	}
}
