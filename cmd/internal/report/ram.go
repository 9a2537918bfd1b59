// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
)

// RAMText is the arena, with its lower bound, and the state where there is one.
func (m *Memory) RAMText() string {
	s := fmt.Sprintf("arena %d bytes (lower bound %d)", m.ArenaBytes, m.LowerBoundBytes)
	for i, x := range m.ArenaParts {
		s += fmt.Sprintf("%s %d in %s", []string{":", " +"}[min(i, 1)], x.Bytes, x.Region)
	}
	if m.StateBytes > 0 {
		s += fmt.Sprintf(", state %d bytes", m.StateBytes)
	}
	return s
}

// ramText is the arena, and the state where there is one.
func (v *Verdict) ramText() string {
	s := fmt.Sprintf("arena %d bytes", v.RAM["arena_bytes"])
	if len(v.Guards) > 0 {
		s += fmt.Sprintf(" in %s (guards intact)", strings.Join(v.Guards, ", "))
	}
	if n := v.RAM["state_bytes"]; n > 0 {
		s += fmt.Sprintf(", state %d bytes", n)
	}
	return s
}
