// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/lower/option"
)

// slowFlash is a board whose weights lie in memory that makes the core wait, with so
// many bytes of RAM without waits; the machine has regions of the same names where it
// has them.
func slowFlash(t *testing.T, core string, ram int, wait string) string {
	t.Helper()
	regions := map[string]string{"cortex-m4": `
    ssram1: {origin: 0x00000000, size: 4M, holds: [vectors, code, rodata]}
    ssram23: {origin: 0x20000000, size: %d, holds: [stack, data, arena]}
    psram: {origin: 0x21000000, size: 16M, holds: [weights]%s}
`, "cortex-m55": `
    itcm: {origin: 0x00000000, size: 512K, holds: [vectors, code]}
    dtcm: {origin: 0x20000000, size: %d, holds: [stack, data]}
    sram: {origin: 0x21000000, size: 4M, holds: [arena], wait: {states: 2, line: 8, source: made up}}
    ddr_code: {origin: 0x60000000, size: 1M, holds: [rodata]}
    ddr_weights: {origin: 0x61000000, size: 16M, holds: [weights]%s}
`}[core]
	machine := strings.ReplaceAll(regions, ", wait: {states: 2, line: 8, source: made up}", "")
	machine = fmt.Sprintf(machine, 512<<10, "")
	text := "doc: weights in slow memory\ninherits: [" + core + "]\nstack: 4K\nmemory:" +
		fmt.Sprintf(regions, ram, ", wait: {"+wait+", source: made up}") + "runner:\n  memory:" + machine
	if core == "cortex-m55" { // what the machine's file has beside these
		text += "    ddr_data: null\n"
	}
	path := filepath.Join(t.TempDir(), "slow.yaml")
	require(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// TestStageWeights runs three models in one image on constants in slow memory, with and
// without copies, linked and bound: every bit is the same, the estimate is smaller by
// what was promised, and the reports say which constants have copies. Where RAM has no
// room for all, what is read often is fetched before its layer.
func TestStageWeights(t *testing.T) {
	for _, c := range []struct {
		core, wait   string
		ram          int
		bound, fetch bool
	}{
		{"cortex-m55", "states: 30, line: 16", 512 << 10, false, false},
		{"cortex-m4", "states: 200, line: 16", 13 << 10, false, true},
		{"cortex-m4", "states: 20, line: 16", 256 << 10, true, false},
	} {
		t.Run(fmt.Sprint(c.core, " bound ", c.bound), func(t *testing.T) {
			board := slowFlash(t, c.core, c.ram, c.wait)
			profile := func(stage bool) (*driver.Firmware, []*report.Verdict) {
				list := severalConfigs(t, board)
				for _, x := range list {
					x.StageWeights, x.WeightsFile = stage, c.bound
					if !stage {
						x.Passes = []string{"fetch=off"}
					}
				}
				f, err := driver.Compile(list...)
				require(t, err)
				vs, err := f.Profile(context.Background())
				require(t, err)
				return f, vs
			}
			f, after := profile(true)
			before := after
			if !c.bound {
				var plain *driver.Firmware
				if plain, before = profile(false); plain.Models[0].Report.Memory.Copies != nil {
					t.Error("copies that nobody asked for")
				}
			}
			staged, fetched := 0, 0
			for i, o := range f.Models {
				if after[i].Differs() || before[i].Differs() {
					t.Errorf("%s: %+v", o.Name, after[i].Outputs)
				}
				m := o.Report.Memory.Copies
				if m == nil {
					continue
				}
				t.Logf("%s: %s; cycles %d, %d before", o.Info.Prefix, m.Text(), after[i].Cycles, before[i].Cycles)
				for _, x := range m.Constants {
					if x.Saved <= 0 || len(x.Steps) == 0 {
						t.Errorf("%+v saves nothing", x)
					}
				}
				staged, fetched = staged+m.StagedBytes, max(fetched, m.FetchedBytes)
				// A copy in the arena takes instructions, which are known better than estimated.
				if got := before[i].Cycles - after[i].Cycles; !c.bound && got*10 < m.Saved*8 {
					t.Errorf("%s: %d cycles saved, %d promised", o.Info.Prefix, got, m.Saved)
				}
			}
			if staged == 0 || (fetched > 0) != c.fetch {
				t.Errorf("%d bytes staged, %d fetched", staged, fetched)
			}
			if at := f.Models[0].Placement.At("staged"); at != map[string]string{"cortex-m55": "dtcm",
				"cortex-m4": "ssram23"}[c.core] {
				t.Errorf("staged in %s", at)
			}
		})
	}
}

// TestNothingToStage: where no copy saves anything, the C is what it is without the
// flag, and a note says why.
func TestNothingToStage(t *testing.T) {
	path := modelFile(t, products["anomaly"])
	small := slowFlash(t, "cortex-m4", 4<<10, "states: 20, line: 16")
	for board, why := range map[string]string{"host": "no memory regions", "cortex-m4": "saves waiting cycles",
		small: "does not fit"} {
		c := config(path, board)
		plain := mustCompile(t, c)
		c = config(path, board)
		c.StageWeights = true
		o := mustCompile(t, c)
		if notes := strings.Join(c.Diags.Texts(diag.Note), "\n"); !strings.Contains(notes, why) {
			t.Errorf("%s: no word of %q in %q", board, why, notes)
		}
		for i, x := range o.Files {
			if string(plain.Files[i].Data) != string(x.Data) {
				t.Errorf("%s: %s differs", board, x.Path)
			}
		}
	}
}

// TestFetched: without any flag, what is read often is fetched before its layer where the
// arena has room, on boards where that pays: every bit is the same, the arena is no
// larger, and the estimate is smaller by what was promised. It is off with its stage, with
// other goals than speed, and on boards whose memory does not wait.
func TestFetched(t *testing.T) {
	slow := slowFlash(t, "cortex-m4", 64<<10, "states: 20, line: 16")
	fetched := 0
	for _, name := range slices.Sorted(maps.Keys(products)) {
		t.Run(name, func(t *testing.T) {
			path := modelFile(t, products[name])
			profile := func(set func(c *driver.Config)) (*driver.Compiled, *report.Verdict) {
				c := config(path, slow)
				set(c)
				return profiled(t, c)
			}
			off, before := profile(func(c *driver.Config) { c.Passes = []string{"fetch=off"} })
			if off.Report.Memory.Copies != nil {
				t.Error("copies that nobody asked for")
			}
			on, after := profile(func(c *driver.Config) { c.WeightsFile = name == "person" })
			if a, b := on.Report.Memory.ArenaBytes, off.Report.Memory.ArenaBytes; a != b {
				t.Errorf("an arena of %d bytes, %d without copies", a, b)
			}
			x := on.Report.Memory.Copies
			if x == nil {
				t.Logf("nothing is fetched")
				return
			}
			t.Logf("%s; cycles %d, %d before", x.Text(), after.Cycles, before.Cycles)
			if got := before.Cycles - after.Cycles; x.StagedBytes > 0 || x.From != "psram" || !on.Config.WeightsFile &&
				got*10 < x.Saved*8 {
				t.Errorf("%d cycles saved: %+v", got, x)
			}
			fetched++
			for _, none := range []func(c *driver.Config){
				func(c *driver.Config) { c.Optimize = option.Size },
				func(c *driver.Config) { c.Board = "cortex-m4" },
			} {
				c := config(path, slow)
				none(c)
				o := mustCompile(t, c)
				if o.Report.Memory.Copies != nil {
					t.Errorf("copies on %s with --optimize %s", c.Board, c.Optimize)
				}
			}
		})
	}
	if fetched == 0 {
		t.Error("nothing was fetched")
	}
}
