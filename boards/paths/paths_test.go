// SPDX-License-Identifier: Apache-2.0

package paths_test

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nncc/nncc/boards/paths"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

var remarks = regexp.MustCompile(`(?m)^@ (ran|most|why|arch) (.*)$`)

// TestMost: bounds of small programs, in which s is the stretch, lib_a a function of the C library and stop ends it.
// Remarks of testdata/ways.txtar say what ran, and what is wanted.
func TestMost(t *testing.T) {
	cc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	for _, f := range testenv.Must(txtar.ParseFile("testdata/ways.txtar"))(t).Files {
		t.Run(f.Name, func(t *testing.T) {
			says := map[string]string{"arch": "armv7-m"}
			for _, m := range remarks.FindAllStringSubmatch(string(f.Data), -1) {
				says[m[1]] = m[2]
			}
			program, at, size := assemble(t, cc, says["arch"], string(f.Data))
			ran := paths.Ran{}
			for _, item := range strings.Fields(says["ran"]) {
				label, n, _ := strings.Cut(item, "=")
				list := strings.Split(label, "+")
				b := paths.Block{Start: at[list[0]]}
				for _, l := range list {
					b.Bytes += size[l]
				}
				ran[b] = testenv.Must(strconv.ParseUint(n, 10, 64))(t)
			}
			if len(ran) == 1 {
				ran[paths.Block{Start: at["s"], Bytes: 2}] = 1
			}
			p, err := paths.Read(program, at["stop"], func(a uint32) bool { return a == at["lib_a"] && a != 0 })
			testenv.OK(t, err)
			s := paths.Stretch{From: at["s"], Ran: ran}
			most, err := p.Most(s)
			if why := says["why"]; why != "" {
				testenv.Refused(t, err, why)
				return
			}
			testenv.OK(t, err)
			seen := testenv.Must(p.Seen(s))(t)
			testenv.Equal(t, fmt.Sprintf("%d, seen %d", most, seen), says["most"], "instructions")
		})
	}
}

// assemble links a text and gives where its labels lie, and how far it is to the next one.
func assemble(t *testing.T, cc, arch, text string) (program string, at, size map[string]uint32) {
	t.Helper()
	dir := t.TempDir()
	src, program := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.elf")
	text = ".syntax unified\n.thumb\n.text\n.global _start\n_start:\n.type s, %function\n" + text +
		"\n.type stop, %function\nstop:\n\tbx lr\n.balign 4\nend: nop\n"
	testenv.OK(t, os.WriteFile(src, []byte(text), 0o644))
	out, err := exec.Command(cc, "-march="+arch, "-mthumb", "-nostdlib", "-o", program, src).CombinedOutput()
	testenv.Require(t, err == nil, "%v\n%s", err, out)
	e := testenv.Must(elf.Open(program))(t)
	defer e.Close()
	syms := testenv.Must(e.Symbols())(t)
	at, size = map[string]uint32{}, map[string]uint32{}
	for _, s := range syms {
		if s.Section < elf.SHN_LORESERVE && elf.ST_TYPE(s.Info) != elf.STT_SECTION && !strings.HasPrefix(s.Name, "$") {
			at[s.Name] = uint32(s.Value) &^ 1
		}
	}
	for name, a := range at {
		next := at["end"]
		for _, b := range at {
			if b > a && b < next {
				next = b
			}
		}
		size[name] = next - a
	}
	return program, at, size
}
