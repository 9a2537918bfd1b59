// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// Distance is how far the result of a layer must begin before an input that it lies over.
type Distance struct {
	Node   *ir.Node
	Takes  string        // the kernel
	I, Out int           // the input, the output
	Stated *call.Overlap // what the kernel says, nil: nothing
	Elem   int           // bytes of an element of the input: places of values are multiples
	// Least is the least distance from which on all that were tried are right. With an Exact statement it is 0 where
	// the same place is right, and Shifted the least of other distances.
	Least, Shifted int
	Behind         int // the least behind the input, where one is stated
	Failed         int // with a distance of this, no less than what is stated, results are wrong; -1: with none

	step, in, out, inBytes, outBytes int
}

// Spare is by how many bytes the kernel could state less for this layer; -1: it states nothing that is nearer than
// apart, or what makes it slow (call.Overlap.Slower).
func (d Distance) Spare() int {
	if s := d.Stated; s != nil && s.Slower == 0 && s.Ahead > 0 && s.Ahead <= d.outBytes {
		return s.Ahead - d.Least
	}
	return -1
}

func (d Distance) String() string {
	stated := "nothing stated"
	if d.Stated != nil && d.Stated.Exact {
		stated = "stated for the same place"
	} else if d.Stated != nil {
		stated = fmt.Sprintf("%d stated (%d behind)", d.Stated.Ahead, d.Stated.Behind)
	}
	return fmt.Sprintf("%s, input %d: %s, %d measured (%d behind, %d at other places), %d bytes from %d: %s",
		d.Takes, d.I, stated, d.Least, d.Behind, d.Shifted, d.outBytes, d.inBytes, d.Node)
}

// overlaps lists the pairs of an input and a result of a layer that can be laid over each other, and gives the bytes
// that this takes.
func (m *Guarded) overlaps(low map[*ir.Node]*call.Lowered, stated map[*ir.Node][]call.Overlap) (most int) {
	p := m.plan.Program
	for k, s := range p.Steps {
		n := m.plan.Nodes[k]
		for j, out := range s.Out {
			if p.Buffers[out].AliasOf >= 0 || n.Out[j].Type.Bytes() == 0 {
				continue
			}
			for i, x := range s.In {
				if x.Buffer < 0 || x.Unread || p.Buffers[x.Buffer].AliasOf >= 0 ||
					slices.Contains(low[n].Unused, i) {
					continue
				}
				d := newDistance(n, i, j, stated[n])
				d.Takes, d.step, d.in, d.out = m.takes[n.Name], k, p.Buffers[x.Buffer].Offset, p.Buffers[out].Offset
				if d.inBytes > 0 && (j == 0 || d.Stated != nil) {
					m.over = append(m.over, d)
					most = max(most, d.inBytes+d.outBytes)
				}
			}
		}
	}
	return m.measured() + (most+2*gapBytes+15)&^15
}

// newDistance is that of result j before input i, of which the kernel says what is stated.
func newDistance(n *ir.Node, i, j int, stated []call.Overlap) Distance {
	d := Distance{Node: n, I: i, Out: j, inBytes: n.In[i].Type.Bytes(), outBytes: n.Out[j].Type.Bytes(),
		Elem: n.In[i].Type.DType.Size()}
	if at := slices.IndexFunc(stated, func(o call.Overlap) bool { return o.I == i && o.Out == j }); at >= 0 {
		d.Stated = &stated[at]
	}
	return d
}

// measured is the bytes of what is measured, which lie in front of the memory for it.
func (m *Guarded) measured() int { return 16 * len(m.over) }

// RunOverlaps builds the layers for a board and measures the distances of those that are wanted.
func (m *Guarded) RunOverlaps(t *testing.T, spec *boards.Spec, opt run.BuildOptions,
	want func(d *Distance) bool) []Distance {
	t.Helper()
	list := slices.DeleteFunc(slices.Clone(m.over), func(d Distance) bool { return !want(&d) })
	if len(list) == 0 {
		return nil
	}
	m.tried = list
	im, c := m.build(t, spec, opt)
	m.tried = nil
	defer im.Close()
	res := testenv.Must(run.Run(context.Background(), spec, im, []run.Case{c}))(t)
	if s := res.Cases[0].Status; s != 0 {
		t.Errorf("status %d", s)
		return nil
	}
	words := res.Cases[0].Outputs[len(m.out)]
	for i := range list {
		w := func(k int) int { return int(int32(binary.LittleEndian.Uint32(words[16*i+4*k:]))) }
		list[i].Least, list[i].Shifted, list[i].Failed, list[i].Behind = w(0), w(1), w(2), w(3)
	}
	return list
}

var namedPlace = regexp.MustCompile(`(?m)^    (LAYERS_AT_\w+) = (\d+),$`)

// movable makes variables of the places of inputs and results.
func movable(list []Distance, source []byte) []byte {
	var macros bytes.Buffer
	macros.WriteString("#include <stdint.h>\nextern uint32_t layers_at[];\n")
	source = namedPlace.ReplaceAllFunc(source, func(line []byte) []byte {
		x := namedPlace.FindSubmatch(line)
		for k, d := range list {
			for i, at := range []int{d.in, d.out} {
				if string(x[2]) == fmt.Sprint(at) {
					fmt.Fprintf(&macros, "#define %s layers_at[%d]\n", x[1], 2*k+i)
					return fmt.Appendf(nil, "    %s_0 = %s,", x[1], x[2])
				}
			}
		}
		return line
	})
	return append(macros.Bytes(), source...)
}

// distances is C that tries distances. A value that several of the list have is moved by the first of these.
func (m *Guarded) distances(list []Distance) []byte {
	first := map[int]int{}
	var places []int
	index := func(at int) int {
		if k, ok := first[at]; ok {
			places = append(places, at)
			return k
		}
		first[at] = len(places)
		places = append(places, at)
		return first[at]
	}
	var pairs []string
	for _, d := range list {
		ahead, behind, exact := -1, 0, 0
		if d.Stated != nil {
			if ahead, behind = d.Stated.Ahead, d.Stated.Behind; d.Stated.Exact {
				exact = 1
			}
		}
		in := index(d.in)
		pairs = append(pairs, fmt.Sprintf("{%d, %d, %d, %d, %d, %d, %d, %d, %d}", d.step, in, index(d.out), d.inBytes,
			d.outBytes, d.Elem, ahead, behind, exact))
	}
	return source("distances", struct {
		Pairs             []string
		Places            []int
		Work, Behind, Gap int
	}{pairs, places, m.behind + m.measured(), m.behind, gapBytes})
}
