// SPDX-License-Identifier: Apache-2.0

package cost

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

//go:embed unpriced.csv
var unpricedTable string

// unpricedRow says of variants why they have no model, or none for some forms of layers.
type unpricedRow struct {
	isas    []string
	pattern string // as path.Match has it
	why     string
}

var unpriced = sync.OnceValue(func() []unpricedRow {
	rows, err := lines(strings.NewReader(unpricedTable), []string{"isa", "variant", "why"})
	bug.If(err != nil, "unpriced.csv: %w", err)
	return lists.Map(rows, func(r []string) unpricedRow { return unpricedRow{strings.Fields(r[0]), r[1], r[2]} })
})

// Unpriced is the reason for which a variant has no model on the target, or none
// for every form of layer; "" where none is stated.
func (t *Target) Unpriced(variant string) string {
	for _, r := range unpriced() {
		if ok, err := path.Match(r.pattern, variant); err != nil {
			panic(bug.Errorf("unpriced.csv: %s: %w", r.pattern, err))
		} else if ok && slices.Contains(r.isas, t.ISA) {
			return r.why
		}
	}
	return ""
}
