// SPDX-License-Identifier: Apache-2.0

package plan

import "slices"

// set is a set of nodes.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) has(i int32) bool { return s[uint32(i)/64]>>(uint32(i)%64)&1 != 0 }
func (s set) add(i int32)      { s[uint32(i)/64] |= 1 << (uint32(i) % 64) }

// others tells how the users of piece k other than node i stand: whether any
// has run and whether any has yet to run.
func (p *program) others(done set, k, i int32) (ran, waits bool) {
	for _, u := range p.users[k] {
		if u == i {
			continue
		}
		if done.has(u) {
			ran = true
		} else {
			waits = true
		}
		if ran && waits {
			break
		}
	}
	return ran, waits
}

// effect of running node i when the nodes in done have run: the bytes it needs
// beyond those live before it, and how the live bytes change when it is
// through. Both are functions of done and i alone, whatever the order was.
func (p *program) effect(done set, i int32) (need, change int64) {
	need = p.scratch[i]
	for _, k := range p.touch[i] {
		ran, waits := p.others(done, k, i)
		if !ran && !p.input[k] {
			need += p.size[k]
			change += p.size[k]
		}
		if !waits && !p.keep[k] {
			change -= p.size[k]
		}
	}
	return need - p.saved(done, i), change
}

// saved are the bytes of outputs of node i that lie over inputs.
func (p *program) saved(done set, i int32) (n int64) {
	if len(p.reuse[i]) == 0 && len(p.saves[i]) == 0 {
		return 0
	}
	for _, t := range p.takeovers(done, i) {
		n += t.bytes
	}
	if n > 0 {
		return n
	}
	for _, s := range p.saves[i] {
		_, waits := p.others(done, s.in, i)
		if ran, _ := p.others(done, s.out, i); !waits && !ran {
			n += s.bytes
		}
	}
	return min(n, p.written[i])
}

// takeovers lists the storages that node i writes over, when the nodes in done
// have run: each storage is taken at most once, the first pair that applies
// wins.
func (p *program) takeovers(done set, i int32) []pair {
	var out []pair
next:
	for _, t := range p.reuse[i] {
		for _, o := range out {
			if o.in == t.in || o.out == t.out {
				continue next
			}
		}
		for k := p.from[t.in]; k < p.from[t.in+1]; k++ {
			if _, waits := p.others(done, int32(k), i); waits {
				continue next
			}
		}
		for k := p.from[t.out]; k < p.from[t.out+1]; k++ {
			if ran, _ := p.others(done, int32(k), i); ran {
				continue next
			}
		}
		out = append(out, t)
	}
	return out
}

func (p *program) atStart() int64 {
	live := int64(0)
	for k, in := range p.input {
		if in {
			live += p.size[k]
		}
	}
	return live
}

// peak is the largest number of bytes live at any step of an order that was
// checked.
func (p *program) peak(order []int) int64 {
	done := newSet(len(p.nodes))
	live := p.atStart()
	most := live
	for _, i := range order {
		need, change := p.effect(done, int32(i))
		most = max(most, live+need)
		live += change
		done.add(int32(i))
	}
	return most
}

// bound is a number of bytes that no order can stay below: what a single step
// touches, what the caller hands over, what it reads back.
func (p *program) bound() int64 {
	most, end := p.atStart(), int64(0)
	for k, keep := range p.keep {
		if keep {
			end += p.size[k]
		}
	}
	most = max(most, end)
	for i := range p.nodes {
		need := p.scratch[i]
		for _, k := range p.touch[i] {
			need += p.size[k]
		}
		taken, over := int64(0), int64(0)
		for x, t := range p.reuse[i] {
			if !slices.ContainsFunc(p.reuse[i][:x], func(o pair) bool { return o.out == t.out }) {
				taken += t.bytes
			}
		}
		for _, s := range p.saves[i] {
			over += s.bytes
		}
		need -= max(taken, min(over, p.written[i]))
		most = max(most, need)
	}
	return most
}
