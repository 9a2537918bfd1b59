// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// mostOfName bounds the names that Portable gives, in bytes: endings and numbers are
// added to them.
const mostOfName = 120

// Portable is a name of a file that every system takes for text that may be anything:
// letters, digits, points, dashes and underscores stay, others become underscores. What
// is too long is cut and ends in a number for the whole; different texts may become one.
func Portable(s string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, s)
	if name = strings.TrimLeft(name, "."); name == "" {
		name = "_"
	}
	if device, _, _ := strings.Cut(strings.ToLower(name), "."); devices[device] {
		name = "_" + name
	}
	if len(name) <= mostOfName {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(s))
	return fmt.Sprintf("%s~%08x", name[:mostOfName], h.Sum32())
}

// devices are names that Windows keeps for itself, whatever follows behind a point.
var devices = func() map[string]bool {
	m := map[string]bool{"con": true, "prn": true, "aux": true, "nul": true}
	for i := range 10 {
		m[fmt.Sprintf("com%d", i)], m[fmt.Sprintf("lpt%d", i)] = true, true
	}
	return m
}()
