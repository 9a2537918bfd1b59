// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"bytes"
	"hash/maphash"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/program"
)

// constants fills a program's table, in the order of first use; equal arrays
// are one.
type constants struct {
	p    *program.Program
	hash maphash.Seed
	seen map[uint64][]int // entries by the hash of their data
	// apart: arrays are one only where they are the same in memory (call.Lowered.Apart).
	apart bool
}

func newConstants(p *program.Program) *constants {
	c := &constants{p: p, hash: maphash.MakeSeed(), seen: map[uint64][]int{}}
	for i := range p.Consts {
		if x := &p.Consts[i]; x.Ext == "" {
			key := maphash.Bytes(c.hash, x.Data)
			c.seen[key] = append(c.seen[key], i)
		}
	}
	return c
}

// add is the entry of an array, a new one where there is none with its elements.
func (c *constants) add(x program.Const) int {
	key := maphash.Bytes(c.hash, x.Data)
	for _, i := range c.seen[key] {
		if y := &c.p.Consts[i]; y.CType == x.CType && bytes.Equal(y.Data, x.Data) &&
			(!c.apart || len(x.Data) > 0 && &y.Data[0] == &x.Data[0]) {
			y.Align, y.Pad = max(y.Align, x.Align), max(y.Pad, x.Pad)
			return i
		}
	}
	c.seen[key] = append(c.seen[key], len(c.p.Consts))
	return c.append(x)
}

func (c *constants) file(x *call.Image) int {
	return c.append(program.Const{Hint: "image", CType: "uint8_t", Ext: x.Ext, Data: x.Data})
}

func (c *constants) append(x program.Const) int {
	c.p.Consts = append(c.p.Consts, x)
	return len(c.p.Consts) - 1
}

// constantOf is the entry that an array becomes.
func constantOf(b *call.Blob) program.Const {
	return program.Const{Hint: b.Hint, CType: b.CType, Data: b.Data, Align: b.Align, Pad: b.Pad}
}
