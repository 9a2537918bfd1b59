package cost

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/nncc/nncc/ir/bug"
)

//go:embed code.csv
var codeTable string

// CodeBytes are the bytes of code and constants that a source of the runtime
// compiles to, by its path in an emitted folder: for an instruction set, with the
// board's flags for speed or for size.
func CodeBytes(isa string, size bool) map[string]int {
	if size {
		isa += "-size"
	}
	rows, err := lines(strings.NewReader(codeTable))
	if err != nil || len(rows) == 0 {
		panic(bug.Errorf("code.csv: cannot be read"))
	}
	out := map[string]int{}
	for col, name := range rows[0] {
		if name != isa {
			continue
		}
		for _, row := range rows[1:] {
			if n, err := strconv.Atoi(row[col]); err == nil {
				out[row[0]] = n
			}
		}
	}
	return out
}
