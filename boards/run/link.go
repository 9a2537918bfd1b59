// SPDX-License-Identifier: Apache-2.0

package run

import (
	"maps"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
)

// placement maps each kind of content (boards.Content) to a region's name.
type placement map[string]string

// handlerStack is the stack of exceptions: the counter's handler needs
// nothing, a fault report less than this.
const handlerStack = 768

func linkScript(spec *boards.Spec, at placement) []byte {
	return written("link.ld", map[string]any{"Board": spec.Name, "Regions": machineMemory(spec),
		"At": map[string]string(at), "Stack": uint64(spec.Stack), "HandlerStack": handlerStack, "Parts": at.parts()})
}

// machineMemory is what firmware under test may use: all the machine has.
func machineMemory(spec *boards.Spec) boards.Regions {
	if len(spec.Runner.Memory) > 0 {
		return spec.Runner.Memory
	}
	return spec.Memory
}

// arenaIn is what the part of the arena is called that a region of the board has.
func arenaIn(region string) string { return "arena " + region }

// parts are the regions of the board that have a part of the arena.
func (p placement) parts() []string {
	var out []string
	for what := range p {
		if region, ok := strings.CutPrefix(what, arenaIn("")); ok {
			out = append(out, region)
		}
	}
	slices.Sort(out)
	return out
}

// firstChoice puts every kind of content into the first region that holds it.
func firstChoice(spec *boards.Spec, models []Model) placement {
	size := map[string]uint64{}
	for _, m := range models {
		for _, x := range m.Parts {
			size[arenaIn(x.Region)] = 0
		}
	}
	return place(spec, size)
}

// place chooses regions of the machine for contents of the given sizes; where something
// does not fit the linker says how much is missing. A part of the arena goes to the memory
// that the machine has where the board has the part's region; where it has none there, to
// any that holds arenas.
func place(spec *boards.Spec, size map[string]uint64) placement {
	rs := machineMemory(spec)
	var items []boards.Item
	for _, what := range []string{"vectors", "code", "stack", "data", "rodata", "arena", "staged", "weights"} {
		items = append(items, boards.Item{What: what, Bytes: size[what]})
	}
	for _, what := range slices.Sorted(maps.Keys(size)) {
		if region, ok := strings.CutPrefix(what, arenaIn("")); ok {
			items = append(items, boards.Item{What: what, Bytes: size[what], Region: machineRegion(spec, region)})
		}
	}
	p, at := rs.Place(items...), placement{}
	for _, it := range items {
		at[it.What] = p.At(it.What)
		if at[it.What] == "" && strings.HasPrefix(it.What, arenaIn("")) {
			at[it.What] = at["arena"]
		}
	}
	return at
}

// machineRegion is the machine's memory at the place of a region of the board; "": it has
// none there that holds arenas.
func machineRegion(spec *boards.Spec, name string) string {
	i := slices.IndexFunc(spec.Memory, func(r boards.Region) bool { return r.Name == name })
	if i < 0 {
		return ""
	}
	at := uint64(spec.Memory[i].Origin)
	for _, m := range machineMemory(spec) {
		if m.Can("arena") && at >= uint64(m.Origin) && at-uint64(m.Origin) < uint64(m.Size) {
			return m.Name
		}
	}
	return ""
}
