// SPDX-License-Identifier: Apache-2.0

package cost

import (
	_ "embed"
	"encoding/csv"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
	runtimec "github.com/nncc/nncc/runtime_c"
)

//go:embed code.csv
var codeTable string

// codeBytes are the bytes of code and constants that a source of the runtime
// compiles to, by column of code.csv and path in an emitted folder.
var codeBytes = sync.OnceValue(func() map[string]map[string]int {
	rows, err := csv.NewReader(strings.NewReader(codeTable)).ReadAll()
	bug.If(err != nil || len(rows) == 0, "code.csv: cannot be read")
	out := map[string]map[string]int{}
	for col, name := range rows[0] {
		out[name] = map[string]int{}
		for _, row := range rows[1:] {
			if n, err := strconv.Atoi(row[col]); err == nil {
				out[name][row[0]] = n
			}
		}
	}
	return out
})

// Runs reports a source of the runtime that some layer may call on an
// instruction set.
func Runs(source, isa string) bool {
	switch {
	case runtimec.Shipped().Accelerator(source):
		return false
	case strings.HasPrefix(source, "helium/"):
		return isa == "mve"
	case strings.HasPrefix(source, "dsp/"):
		return isa != "mve"
	}
	return true
}

// SourceBytes are the bytes of every source of the runtime on the target.
func (t *Target) SourceBytes() map[string]int {
	if t.Size {
		return codeBytes()[t.ISA+"-size"]
	}
	return codeBytes()[t.ISA]
}

var sourcesOf sync.Map // of a function: []string

// sources are the bytes of the C files that a function brings along. Functions
// of other libraries, and those written for one layer, bring none.
func (t *Target) sources(function string) map[string]int {
	list, ok := sourcesOf.Load(function)
	if !ok {
		var paths []string
		if files, err := runtimec.Shipped().Paths(function); err == nil {
			for _, p := range files {
				if path.Ext(p) == ".c" {
					paths = append(paths, p)
				}
			}
		}
		list, _ = sourcesOf.LoadOrStore(function, paths)
	}
	out, bytes := map[string]int{}, t.SourceBytes()
	for _, p := range list.([]string) {
		out[p] = bytes[p]
	}
	return out
}
