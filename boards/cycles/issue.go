// SPDX-License-Identifier: Apache-2.0

package cycles

import "github.com/nncc/nncc/boards/thumb"

// Units that instructions of one cycle share.
const (
	unitALU = iota
	unitLoad
	unitStore
	unitMAC
	unitBranch
	unitVector
	unitCount
)

var unitNames = [unitCount]string{"alu", "load", "store", "mac", "branch", "vector"}

// unitOf is where an instruction goes; alone reports one that shares its cycles
// with no other.
func unitOf(i *thumb.Work) (u int, alone bool) {
	switch i.Class {
	case thumb.Mul, thumb.MulAdd, thumb.LongMul:
		return unitMAC, false
	case thumb.Load:
		return unitLoad, i.PC
	case thumb.Store:
		return unitStore, false
	case thumb.Branch, thumb.Call, thumb.Jump, thumb.Loop, thumb.LoopStart:
		return unitBranch, i.Class == thumb.Jump && i.Bytes > 0
	case thumb.Float, thumb.FloatMac:
		return unitVector, false
	case thumb.VecLoad, thumb.VecStore, thumb.VecMul, thumb.VecALU:
		return unitVector, false
	case thumb.Div, thumb.FloatDiv, thumb.LoadPair, thumb.StorePair, thumb.LoadMany, thumb.StoreMany,
		thumb.Gather, thumb.System:
		return unitALU, true
	}
	return unitALU, false
}

// issue is the progress of a core that executes in order and starts up to two
// instructions in a cycle: those for different units, the second of which needs
// nothing that the first computes. Results are counted from the start of the
// block: what a turn of a loop leaves to the next one is not followed.
type issue struct {
	m       *Model
	at      int            // the cycle in which the last instruction started
	started int            // instructions that started in it; 2: no other
	busy    [unitCount]int // instructions on a unit in it
	ready   [16]int        // the cycle from which a register is there for arithmetic
	sum     [16]int        // the same for the accumulator of the next product
	pipe    [4]int         // the cycle from which a vector pipe takes another instruction
	end     int            // the cycle behind the last one
}

func newIssue(m *Model) *issue { return &issue{m: m} }

// next starts an instruction that takes price cycles where it is alone.
func (s *issue) next(i *thumb.Work, price int) {
	if i.Class == thumb.Loop { // needs no cycle
		return
	}
	unit, alone := unitOf(i)
	t := s.operands(i)
	p := i.Class.Pipe()
	if p > 0 {
		t = max(t, s.pipe[p])
	}
	if t <= s.at && (s.started >= 2 || s.started > 0 && alone || s.busy[unit] >= s.m.units[unit]) {
		t = s.at + 1
	}
	if t > s.at || s.started == 0 {
		s.at, s.started, s.busy = max(t, s.at), 0, [unitCount]int{}
	}
	s.started++
	s.busy[unit]++
	if p > 0 {
		s.pipe[p] = s.at + 2
		s.end = max(s.end, s.at+1)
	}
	s.results(i, unit)
	if alone { // the last of its cycles is full
		s.at += max(price, 1) - 1
		s.started = 2
	}
	s.end = max(s.end, s.at+1)
}

// operands is the first cycle in which an instruction has what it reads:
// addresses are wanted a cycle early, what is stored and what a product is added
// to a cycle late.
func (s *issue) operands(i *thumb.Work) int {
	t, early := s.at, 0
	switch i.Class {
	case thumb.Load, thumb.LoadPair, thumb.LoadMany, thumb.VecLoad, thumb.Gather:
		early = 1
	case thumb.Store, thumb.StorePair, thumb.StoreMany, thumb.Branch:
		early = -1
	}
	for r := range uint16(16) {
		switch b := thumb.Bit(r); {
		case i.Acc&b != 0:
			t = max(t, s.sum[r])
		case i.Src&b != 0 && s.ready[r] > 0:
			t = max(t, s.ready[r]+early)
		}
	}
	return t
}

// results sets from when on registers are there: of a word loaded a cycle later,
// of a byte or halfword and of a product two.
func (s *issue) results(i *thumb.Work, unit int) {
	late := 1
	if unit == unitMAC || i.Class == thumb.Load && i.Bytes < 4 {
		late = 2
	}
	for r := range uint16(16) {
		if (i.Dst|i.Out)&thumb.Bit(r) == 0 {
			continue
		}
		s.ready[r], s.sum[r] = s.at+late, s.at+late
		if unit == unitMAC {
			s.sum[r] = s.at + 1
		}
	}
}

func (s *issue) cycles() int { return s.end }
