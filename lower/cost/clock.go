package cost

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
)

// Rate is what an instruction takes on a core, on average over layers of a kind.
type Rate struct {
	Core   string // or a board whose code waits
	Kind   Kind
	Layers int
	Cycles float64 // an instruction
	Error  float64 // relative, root of the mean square over the layers
}

//go:embed cycles.csv
var cyclesTable string

// RateColumns are those of cycles.csv.
var RateColumns = []string{"core", "kind", "layers", "cycles", "error"}

type coreKind struct {
	core string
	kind Kind
}

// rates by core and kind, as boards/cycles estimates them of executed
// instructions.
var rates = sync.OnceValue(func() map[coreKind]Rate {
	rows, err := lines(strings.NewReader(cyclesTable), RateColumns)
	if err != nil {
		panic(bug.Errorf("cycles.csv: %w", err))
	}
	out := map[coreKind]Rate{}
	for _, row := range rows {
		r := Rate{Core: row[0], Kind: Kind(row[1])}
		var e [3]error
		r.Layers, e[0] = strconv.Atoi(row[2])
		r.Cycles, e[1] = strconv.ParseFloat(row[3], 64)
		r.Error, e[2] = strconv.ParseFloat(row[4], 64)
		for _, err := range e {
			if err != nil {
				panic(bug.Errorf("cycles.csv: %w", err))
			}
		}
		out[coreKind{r.Core, r.Kind}] = r
	}
	return out
})

// rate is what an instruction of a layer takes on the board, or on its core; false
// where neither has a table.
func (t *Target) rate(k Kind) (Rate, bool) {
	for _, on := range []string{t.Memory.Board, t.Core} {
		for _, kind := range []Kind{k, Other} {
			if r, ok := rates()[coreKind{on, kind}]; ok && on != "" {
				return r, true
			}
		}
	}
	return Rate{}, false
}
