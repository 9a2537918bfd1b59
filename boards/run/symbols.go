// SPDX-License-Identifier: Apache-2.0

package run

import (
	"debug/elf"
	"fmt"
	"regexp"
	"strconv"

	runtimec "github.com/nncc/nncc/runtime_c"
)

var stackedRE = regexp.MustCompile(`\b(PC|LR)=0x([0-9a-f]{8})`)

// where names the functions that a fault report's PC and LR point into.
func where(program, report string) string {
	f, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		return ""
	}
	text := ""
	for _, m := range stackedRE.FindAllStringSubmatch(report, 2) {
		at, err := strconv.ParseUint(m[2], 16, 32)
		if err != nil {
			continue
		}
		at &^= 1 // the Thumb bit
		for _, s := range syms {
			start := s.Value &^ 1
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && at >= start && at < start+s.Size {
				how := "in"
				if m[1] == "LR" {
					how = "return address in"
				}
				text += fmt.Sprintf(", %s %s+0x%x", how, runtimec.Plain(s.Name), at-start)
				break
			}
		}
	}
	return text
}
