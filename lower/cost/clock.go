// SPDX-License-Identifier: Apache-2.0

package cost

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
)

// Rate is what an instruction takes on a core, on average over layers of a kind or
// of a variant.
type Rate struct {
	Core   string // or a board whose code waits
	Of     string // kind or variant
	Layers int
	Cycles float64 // an instruction
	Error  float64 // relative, root of the mean square over the layers
}

//go:embed cycles.csv
var cyclesTable string

// RateColumns are those of cycles.csv.
var RateColumns = []string{"core", "kind", "layers", "cycles", "error"}

// rateKey is a core or board with a kind or variant.
type rateKey struct{ core, of string }

// IsKind reports a name of a kind.
func IsKind(name string) bool { return slices.Contains(allKinds, Kind(name)) }

// rates by core and by kind or variant, as boards/cycles estimates them of executed
// instructions.
var rates = sync.OnceValue(func() map[rateKey]Rate {
	rows, err := lines(strings.NewReader(cyclesTable), RateColumns)
	bug.If(err != nil, "cycles.csv: %w", err)
	out := map[rateKey]Rate{}
	for _, row := range rows {
		r := Rate{row[0], row[1], bug.Must(strconv.Atoi(row[2])), bug.Must(strconv.ParseFloat(row[3], 64)),
			bug.Must(strconv.ParseFloat(row[4], 64))}
		out[rateKey{r.Core, r.Of}] = r
	}
	return out
})

// rate is what an instruction of a layer takes on the board, or on its core; false
// where neither has a table.
func (t *Target) rate(l *Layer) (Rate, bool) {
	for _, on := range []string{t.Memory.Board, t.Core} {
		for _, of := range []string{l.Variant, string(l.Geometry.Kind), string(Other)} {
			if r, ok := rates()[rateKey{on, of}]; ok && on != "" {
				return r, true
			}
		}
	}
	return Rate{}, false
}
