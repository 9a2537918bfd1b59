// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"strconv"
	"strings"
)

// unique makes a value name that no other value of the graph has.
func (g *Graph) unique(name string) string {
	if name == "" {
		name = "v" + strconv.Itoa(g.nextID)
	}
	if !g.names[name] {
		g.names[name] = true
		return name
	}
	for k := max(g.suffix[name], 1); ; k++ {
		s := name + "." + strconv.Itoa(k)
		if !g.names[s] {
			g.names[s] = true
			if g.suffix == nil {
				g.suffix = map[string]int{}
			}
			g.suffix[name] = k + 1
			return s
		}
	}
}

// free gives a name back.
func (g *Graph) free(name string) {
	delete(g.names, name)
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return
	}
	if next, ok := g.suffix[name[:i]]; ok {
		if k, err := strconv.Atoi(name[i+1:]); err == nil && k < next {
			g.suffix[name[:i]] = k
		}
	}
}

// Names of values.
func Names(vs []*Value) []string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Name)
	}
	return out
}
