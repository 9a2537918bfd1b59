// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// meantFused is how the functions are called whose products are fused by definition.
var meantFused = regexp.MustCompile(`^nncc_f32_|_packed_f32$|^nncc_(dot|batch_matmul|resize)_f32$`)

// TestFused compiles the portable kernels for cores that multiply and add in an instruction, as one unit: their static
// names do not collide, there are no warnings, and no such instruction where none is meant. It would round once where
// the reference rounds twice. GNU mode is used because only there GCC contracts by default.
func TestFused(t *testing.T) {
	cc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	dir := t.TempDir()
	testenv.OK(t, WriteTree(dir))
	files, err := filepath.Glob(filepath.Join(dir, "src", "nncc", "*.c"))
	testenv.Require(t, err == nil && len(files) != 0, "no sources: %v", err)
	var unit strings.Builder
	for _, f := range files {
		fmt.Fprintf(&unit, "#include %q\n", filepath.Base(f))
	}
	args := strings.Fields("-std=gnu11 -Os -mthumb -mfloat-abi=hard -Wall -Wextra -Wpedantic -Wconversion -Wshadow " +
		"-Wstrict-prototypes -Wmissing-prototypes -Werror -x c - -S -o -")
	for _, family := range []string{"nncc", "dsp", "helium"} {
		args = append(args, "-I", filepath.Join(dir, "include", family), "-I", filepath.Join(dir, "src", family))
	}
	fused, label := regexp.MustCompile(`\bvfn?m[as]`), regexp.MustCompile(`^([A-Za-z_]\w*):`)
	for _, core := range []string{"cortex-m4", "cortex-m55"} {
		t.Run(core, func(t *testing.T) {
			cmd := exec.Command(cc, append(args, "-mcpu="+core)...)
			cmd.Stdin = strings.NewReader(unit.String())
			var out, msg bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &msg
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s", err, msg.Bytes())
			}
			in, meant := "", 0
			for line := range strings.Lines(out.String()) {
				if m := label.FindStringSubmatch(line); m != nil {
					in = m[1]
				}
				switch m := fused.FindString(line); {
				case m != "" && meantFused.MatchString(in):
					meant++
				case m != "":
					t.Errorf("instruction %s in %s: contraction is on", m, in)
				}
			}
			testenv.Check(t, meant != 0, "no function has a fused multiply-add")
		})
	}
}
