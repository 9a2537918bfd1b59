// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// TestFrontier: a program that needs no less than a faster one is left out; a memory's room, without what else lies
// there, stands between the programs that fit it and those that do not.
func TestFrontier(t *testing.T) {
	m := report.Memory{Regions: []report.Region{{Name: "tcm", Bytes: 700, Holds: []string{"arena"},
		Items: []report.Item{{What: "stack", Bytes: 100}, {What: "arena", Bytes: 500}}}, {Name: "flash", Bytes: 400}}}
	m.Frontier = report.NewFrontier(lower.Frontier([]lower.Point{{ArenaBytes: 480, RAMBytes: 500, Work: 9},
		{ArenaBytes: 980, RAMBytes: 1000, Work: 4}, {ArenaBytes: 990, RAMBytes: 1010, Work: 5},
		{ArenaBytes: 300, RAMBytes: 320, Work: 12, Optimize: option.Size, Kernels: option.OwnKernels}}))
	testenv.Equal(t, m.FrontierText(), ` arena bytes   instructions  flags
         980              4  --optimize speed --max-ram 1000
         600 ---- tcm
         480              9  --optimize speed --max-ram 500
         300             12  --kernels nncc --optimize size --max-ram 320
`, "text")
}
