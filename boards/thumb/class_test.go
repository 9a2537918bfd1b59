// SPDX-License-Identifier: Apache-2.0

package thumb

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// assembled are the halfwords of a test file, and its lines of code with the
// class that the file says they have.
func assembled(t *testing.T, file string, flags ...string) (text []uint16, lines, want []string) {
	t.Helper()
	const cc = "arm-none-eabi-gcc"
	testenv.Tool(t, "arm-gcc", cc)
	object := filepath.Join(t.TempDir(), "t.o")
	if out, err := exec.Command(cc, append(flags, "-mthumb", "-mfloat-abi=hard", "-c", "-o", object,
		file)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f := testenv.Must(elf.Open(object))(t)
	defer f.Close()
	b := testenv.Must(f.Section(".text").Data())(t)
	for ; len(b) >= 2; b = b[2:] {
		text = append(text, binary.LittleEndian.Uint16(b))
	}
	src := testenv.Must(os.Open(file))(t)
	defer src.Close()
	class := ""
	for sc := bufio.NewScanner(src); sc.Scan(); {
		line := strings.TrimSpace(sc.Text())
		if c, ok := strings.CutPrefix(line, "@ class "); ok {
			class = c
		}
		if line == "" || strings.HasPrefix(line, "@") || strings.HasPrefix(line, ".") || strings.HasSuffix(line, ":") {
			continue
		}
		lines, want = append(lines, line), append(want, class)
	}
	return text, lines, want
}

// TestClasses: every instruction of the test files is of the class and size that
// the assembler's encoding of it should have.
func TestClasses(t *testing.T) {
	for file, flags := range map[string][]string{
		"armv7em.s": {"-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16"},
		"armv81m.s": {"-mcpu=cortex-m55", "-mfpu=auto"},
	} {
		text, lines, want := assembled(t, filepath.Join("testdata", file), flags...)
		for k, line := range lines {
			if len(text) < 2 {
				text = append(text, 0, 0)
			}
			i := Sort(text[0], text[1])
			if i.Class.String() != want[k] {
				t.Errorf("%s: %s (%04x %04x) is %s, want %s", file, line, text[0], text[1], i.Class, want[k])
			}
			text = text[i.Size/2:]
		}
	}
}
