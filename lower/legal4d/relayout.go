// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
)

// relayout moves the atoms of a part to other places on the axes, in 4-D:
//   - by Reshape where the order of the data stays,
//   - by one Transpose where axes trade places,
//   - by a Reshape of the data with channels last, where their order stays,
//   - by SpaceToDepth or DepthToSpace where blocks of H and W meet C,
//   - by Reshape, Transpose, Reshape where three runs of atoms trade places,
//   - by several of these otherwise, as few as there can be.
//
// The batch stays on N where it lies there before and after.
func (b *builder) relayout(p *part, want axes) *part {
	q := *p
	q.axes = want
	src, dst := p.axes.all(), want.all()
	bug.If(len(src) != len(dst), "relayout loses atoms")
	q.val = b.reshape(b.moveAtoms(p, want, src, dst), want.shape())
	return q.clone()
}

func (b *builder) moveAtoms(p *part, want axes, src, dst []atom) *ir.Value {
	if slices.Equal(src, dst) {
		return p.val
	}
	if perm := exchange(p.axes, want); perm != nil {
		return b.transpose(p.val, perm)
	}
	if slices.Equal(channelsLast(p.axes), channelsLast(want)) {
		return b.reshapeLast(p, want)
	}
	if v := b.blocks(p, want); v != nil {
		return v
	}
	batch := 0
	if slices.Equal(p.axes[axN], want[axN]) {
		batch = len(want[axN])
	}
	n := count(dst[:batch])
	runs := runsOf(src[batch:], dst[batch:])
	shape := func(r ...[]atom) []int {
		s := append([]int{n}, lists.Map(r, count)...)
		return append(s, slices.Repeat([]int{1}, 4-len(s))...)
	}
	v := p.val
	if len(runs) <= 3 {
		return b.transpose(b.reshape(v, shape(runs...)), runPerm(runs, want, dst))
	}
	for _, st := range route(runs, dst) {
		v = b.reshape(v, shape(lists.Map(st.blocks[:], func(r [][]atom) []atom { return slices.Concat(r...) })...))
		v = b.transpose(v, []int{0, 1 + st.perm[0], 1 + st.perm[1], 1 + st.perm[2]})
	}
	return v
}

// exchange is the permutation of axes that gives want, one that keeps N where there is; nil: they
// are not only exchanged.
func exchange(from, want axes) (perm []int) {
	for _, as := range want {
		for y := range from {
			if !slices.Contains(perm, y) && slices.Equal(from[y], as) {
				perm = append(perm, y)
				break
			}
		}
	}
	if len(perm) < len(want) {
		return nil
	}
	return perm
}

// runPerm is the permutation of [batch, runs..., 1...], with the runs in the order of
// the data, to axes: where each run is an axis of its own it goes there at once,
// otherwise the runs are in the order of dst.
func runPerm(runs [][]atom, want axes, dst []atom) []int {
	perm, next := []int{0}, len(runs)+1
	for x := axC; x <= axW; x++ {
		i := slices.IndexFunc(runs, func(r []atom) bool { return slices.Equal(r, want[x]) })
		switch {
		case i >= 0:
			perm = append(perm, i+1)
		case len(want[x]) == 0 && next < 4:
			perm, next = append(perm, next), next+1
		}
	}
	sorted := slices.Clone(perm)
	if slices.Sort(sorted); slices.Equal(sorted, ir.Identity(4)) {
		return perm
	}
	perm = ir.Identity(4)
	slices.SortFunc(perm[1:len(runs)+1], func(x, y int) int {
		return slices.Index(dst, runs[x-1][0]) - slices.Index(dst, runs[y-1][0])
	})
	return perm
}

// channelsLast are atoms in the order of a channels-last memory.
func channelsLast(x axes) []atom {
	return slices.Concat(x[axN], x[axH], x[axW], x[axC])
}

// reshapeLast is a Reshape of data whose channels lie last: between two
// Transposes, which in such a memory move nothing.
func (b *builder) reshapeLast(p *part, want axes) *ir.Value {
	v := b.transpose(p.val, []int{0, 2, 3, 1})
	s := want.shape()
	v = b.reshape(v, []int{s[axN], s[axH], s[axW], s[axC]})
	return b.transpose(v, []int{0, 3, 1, 2})
}

// step permutes three blocks of runs; block i of the result is blocks[perm[i]].
type step struct {
	blocks [3][][]atom
	perm   [3]int
}

// cutAt is a step of runs in a row that are cut before i and j.
func cutAt(row [][]atom, i, j int, perm [3]int) step {
	return step{[3][][]atom{row[:i], row[i:j], row[j:]}, perm}
}

func (s step) result() [][]atom {
	return slices.Concat(s.blocks[s.perm[0]], s.blocks[s.perm[1]], s.blocks[s.perm[2]])
}

// maxSearch is the number of runs up to which the shortest route is searched
// for (its factorial bounds the states).
const maxSearch = 6

// route finds permutations of three blocks that bring runs to the order of
// dst: the fewest by breadth-first search, or for many runs one after the
// other to the front.
func route(runs [][]atom, dst []atom) (out []step) {
	goal := slices.Clone(runs)
	slices.SortFunc(goal, func(x, y []atom) int { return slices.Index(dst, x[0]) - slices.Index(dst, y[0]) })
	if len(runs) > maxSearch {
		for _, r := range slices.Backward(goal) {
			if i := slices.IndexFunc(runs, func(x []atom) bool { return x[0] == r[0] }); i > 0 {
				out = append(out, cutAt(runs, i, i+1, [3]int{1, 0, 2}))
				runs = out[len(out)-1].result()
			}
		}
		return out
	}
	type state struct {
		row   [][]atom
		steps []step
	}
	seen := map[string]bool{fmt.Sprint(runs): true}
	for queue := []state{{row: runs}}; ; queue = queue[1:] {
		at := queue[0]
		if slices.EqualFunc(at.row, goal, slices.Equal) {
			return at.steps
		}
		for i := range at.row {
			for j := i + 1; j <= len(at.row); j++ {
				for _, perm := range [][3]int{{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
					st := cutAt(at.row, i, j, perm)
					if key := fmt.Sprint(st.result()); !seen[key] {
						seen[key] = true
						queue = append(queue, state{st.result(), append(slices.Clip(at.steps), st)})
					}
				}
			}
		}
	}
}

// runsOf cuts src into the longest runs that stay together in dst.
func runsOf(src, dst []atom) [][]atom {
	var runs [][]atom
	for i, a := range src {
		if i > 0 {
			if k := slices.Index(dst, src[i-1]); k+1 < len(dst) && dst[k+1] == a {
				runs[len(runs)-1] = append(runs[len(runs)-1], a)
				continue
			}
		}
		runs = append(runs, []atom{a})
	}
	return runs
}

// blocks writes a movement of square blocks between H, W and C:
//
//	C, (h r), (w r)  ->  (r r C), h, w   SpaceToDepth
//	(r r C), h, w    ->  C, (h r), (w r) DepthToSpace, mode DCR
//	(C r r), h, w    ->  C, (h r), (w r) DepthToSpace, mode CRD
//
// SpaceToDepth is followed by a permutation of C where that is wanted. nil
// where the movement is of another kind.
func (b *builder) blocks(p *part, want axes) *ir.Value {
	if !slices.Equal(p.axes[axN], want[axN]) {
		return nil
	}
	tails := func(from, to axes) (h, w atom, ok bool) {
		fh, fw := from[axH], from[axW]
		lh, lw := len(fh)-1, len(fw)-1
		if lh < 0 || lw < 0 || !slices.Equal(fh[:lh], to[axH]) || !slices.Equal(fw[:lw], to[axW]) ||
			fh[lh].size != fw[lw].size {
			return h, w, false
		}
		return fh[lh], fw[lw], true
	}
	if h, w, ok := tails(p.axes, want); ok {
		v := b.move(op.SpaceToDepth, "space_to_depth", ir.Attrs{"blocksize": ir.Int(h.size)}, p.val)
		q := p.clone()
		q.val, q.axes = v, want
		q.axes[axC] = slices.Concat([]atom{h, w}, p.axes[axC])
		if slices.Equal(q.axes[axC], want[axC]) {
			return v
		}
		q = b.relayout(q, want)
		return q.val
	}
	if h, w, ok := tails(want, p.axes); ok {
		mode := ""
		switch {
		case slices.Equal(p.axes[axC], slices.Concat([]atom{h, w}, want[axC])):
			mode = "DCR"
		case slices.Equal(p.axes[axC], slices.Concat(want[axC], []atom{h, w})):
			mode = "CRD"
		default:
			return nil
		}
		return b.move(op.DepthToSpace, "depth_to_space_"+mode, ir.Attrs{"blocksize": ir.Int(h.size),
			"mode": ir.Str(mode)}, p.val)
	}
	return nil
}
