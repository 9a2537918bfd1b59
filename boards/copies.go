// SPDX-License-Identifier: Apache-2.0

package boards

import (
	"cmp"
	"math"
	"slices"
)

// Constant is one that can be read where it is linked, from a copy that is made once
// (staged), or from one that is made in the arena before each step that reads it
// (fetched).
type Constant struct {
	Bytes uint64
	// Reads is how often an inference reads all of it, at least; Steps, how many steps do.
	Reads, Steps int
	// Growth are the bytes that the arena grows by where it is fetched.
	Growth uint64
	// Kept: it is not fetched.
	Kept bool
}

// Copies says which constants have copies.
type Copies struct {
	Region          string // of those that are staged; "": none is
	Staged, Fetched []bool
	Bytes, Growth   uint64 // that they take, and that the arena grows by
	// Waits are the cycles an inference that the core waits for constants where all
	// are read in place, Saved those of them that the copies save, and Bound what no
	// choice saves more than: the same for all but large models.
	Waits, Saved, Bound float64
	// Once are the cycles of the copies before the first run.
	Once float64
}

// Read are the cycles that the core waits for an array that is read so many times: once
// each time, but for what the region's cache holds.
func (w Wait) Read(bytes uint64, times int) float64 {
	if bytes <= uint64(w.Cache) {
		times = min(times, 1)
	}
	return w.PerByteCycles() * float64(bytes) * float64(times)
}

// Copying is what copies of constants cost.
type Copying struct {
	From    Wait    // of the region that they are linked to
	Arena   Wait    // of the arena's
	PerByte float64 // cycles that a copy takes beside waits
	Room    uint64  // bytes that the largest region for an arena has for it
}

// Fetching are the cycles that an inference saves where a constant is fetched; less than
// 0 where that takes more.
func (c Copying) Fetching(x *Constant) float64 { return c.inPlace(x) - c.fetched(x) }

// inPlace, staged and fetched are the cycles an inference for a constant.
func (c Copying) inPlace(x *Constant) float64 { return c.From.Read(x.Bytes, x.Reads) }

func (c Copying) staged(x *Constant, in Wait) float64 { return in.Read(x.Bytes, x.Reads) }

func (c Copying) fetched(x *Constant) float64 {
	return c.copied(x, c.Arena)*float64(x.Steps) + c.Arena.Read(x.Bytes, x.Reads)
}

func (c Copying) copied(x *Constant, to Wait) float64 {
	return float64(x.Bytes) * (c.From.PerByteCycles() + c.PerByte + to.PerByteCycles())
}

// choosing is a choice of copies.
type choosing struct {
	Copying
	constants []Constant
}

func (p Placed) free() uint64 { return uint64(p.Size) - min(uint64(p.Size), p.Used()) }

func (p Placement) find(name string) (Placed, bool) {
	i := slices.IndexFunc(p.Regions, func(r Placed) bool { return r.Name == name })
	if i < 0 {
		return Placed{}, false
	}
	return p.Regions[i], true
}

// Copies chooses the copies of constants, linked to region from, that save an inference
// the most cycles: in the room that a placement leaves in one region for those that are
// staged and in the arena's for those that are fetched, and at most limit bytes together.
// perByte are the cycles that a copy takes beside waits.
func (p Placement) Copies(constants []Constant, from string, perByte float64, limit uint64) Copies {
	constants = slices.Clone(constants)
	c := &choosing{Copying{PerByte: perByte}, constants}
	best := Copies{Staged: make([]bool, len(constants)), Fetched: make([]bool, len(constants))}
	source, ok := p.find(from)
	if !ok {
		return best
	}
	c.From = source.Wait
	for i := range constants {
		best.Waits += c.inPlace(&constants[i])
	}
	arena, ok := p.find(p.At("arena"))
	for i := range constants { // nothing is fetched into an arena in parts
		constants[i].Kept = constants[i].Kept || !ok
	}
	c.Arena = arena.Wait
	for _, r := range append([]Placed{{}}, p.Regions...) {
		if r.Name != "" && (r.Name == from || !r.Can("arena") && !r.Can("data")) {
			continue
		}
		for _, growth := range c.growths(min(arena.free(), limit)) {
			room := uint64(0)
			if r.Name != "" {
				room = r.free()
			}
			if ok && r.Name == arena.Name {
				room -= growth
			}
			x := c.choose(r, min(room, limit-growth), growth)
			best.Bound = max(best.Bound, x.Bound)
			if x.Saved > best.Saved+0.5 || x.Saved > best.Saved-0.5 && best.Saved > 0 && x.room() < best.room() {
				x.Waits, x.Bound = best.Waits, best.Bound
				best = x
			}
		}
	}
	return best
}

func (c Copies) room() uint64 { return c.Bytes + c.Growth }

// growths are those of the arena that make a difference, up to most.
func (c *choosing) growths(most uint64) []uint64 {
	list := []uint64{0}
	for _, x := range c.constants {
		if !x.Kept && x.Growth <= most {
			list = append(list, x.Growth)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// choose is the best choice of what is staged in region r, of which room bytes are
// left, where fetching is for those that the arena need not grow by more for.
func (c *choosing) choose(r Placed, room, growth uint64) Copies {
	n := len(c.constants)
	x := Copies{Staged: make([]bool, n), Fetched: make([]bool, n)}
	k := &knapsack{bytes: make([]uint64, n), value: make([]float64, n)}
	fetched := 0.0
	saves := make([]float64, n)
	for i := range c.constants {
		a := &c.constants[i]
		k.bytes[i] = Item{Bytes: a.Bytes}.room()
		if !a.Kept && a.Growth <= growth {
			saves[i] = max(0, c.Fetching(a))
		}
		fetched += saves[i]
		if r.Name != "" {
			k.value[i] = c.inPlace(a) - c.staged(a, r.Wait) - saves[i]
		}
	}
	staged, value, bound := k.choose(room)
	x.Saved, x.Bound, x.Staged = fetched+value, fetched+bound, staged
	for i := range c.constants {
		a := &c.constants[i]
		switch {
		case staged[i]:
			x.Region = r.Name
			x.Bytes += k.bytes[i]
			x.Once += c.copied(a, r.Wait)
		case saves[i] > 0:
			x.Fetched[i] = true
			x.Growth = max(x.Growth, a.Growth)
		}
	}
	if math.Abs(x.Saved) < 0.5 {
		return Copies{Staged: make([]bool, n), Fetched: make([]bool, n)}
	}
	return x
}

// mostChoices bounds the ways that a choice of constants looks at.
const mostChoices = 1 << 18

// knapsack chooses things of the largest value together that have room in so many bytes.
type knapsack struct {
	bytes []uint64
	value []float64

	order []int // the most value a byte first
	taken []bool
	best  []bool
	most  float64
	ways  int
}

// choose gives what is taken, its value, and what no choice is above: the same for all
// but large problems.
func (k *knapsack) choose(room uint64) (taken []bool, value, bound float64) {
	for i, v := range k.value {
		if v > 0 {
			k.order = append(k.order, i)
		}
	}
	slices.SortStableFunc(k.order, func(i, j int) int {
		return cmp.Compare(k.value[j]*float64(k.bytes[i]), k.value[i]*float64(k.bytes[j]))
	})
	k.taken, k.best = make([]bool, len(k.value)), make([]bool, len(k.value))
	bound = k.rest(0, room)
	k.try(0, room, 0)
	if k.ways <= mostChoices {
		bound = k.most
	}
	return k.best, k.most, bound
}

// try takes or leaves what is in the order from n on, behind what has the value before.
func (k *knapsack) try(n int, room uint64, before float64) {
	if before > k.most {
		k.most = before
		copy(k.best, k.taken)
	}
	if k.ways++; n == len(k.order) || k.ways > mostChoices || before+k.rest(n, room) <= k.most {
		return
	}
	i := k.order[n]
	if k.bytes[i] <= room {
		k.taken[i] = true
		k.try(n+1, room-k.bytes[i], before+k.value[i])
		k.taken[i] = false
	}
	k.try(n+1, room, before)
}

// rest is the most that what is in the order from n on can add, the last one in part.
func (k *knapsack) rest(n int, room uint64) float64 {
	sum := 0.0
	for _, i := range k.order[n:] {
		if k.bytes[i] > room {
			return sum + k.value[i]*float64(room)/float64(k.bytes[i])
		}
		room -= k.bytes[i]
		sum += k.value[i]
	}
	return sum
}
