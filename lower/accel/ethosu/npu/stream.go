// SPDX-License-Identifier: Apache-2.0

package npu

import (
	"encoding/binary"
	"fmt"
)

// Stream is what the driver gets: actions, of which one is a command stream.
type Stream struct {
	Config *Config
	Words  []uint32
}

// tags of the driver's actions.
const (
	actReserved, actConfig, actCommands, actRead, actDump, actNop = 0, 1, 2, 3, 4, 5
	fourCC                                                        = 'C' | 'O'<<8 | 'P'<<16 | '1'<<24
	maxStream                                                     = 1 << 24 // bytes

	architecture = 1<<28 | 6<<16 // 1.0.6
)

// Parse reads the driver's actions.
func Parse(b []byte) (*Stream, error) {
	if len(b)%4 != 0 || len(b) < 4 || binary.LittleEndian.Uint32(b) != fourCC {
		return nil, fmt.Errorf("%d bytes that do not begin with COP1, want words of a driver's actions", len(b))
	}
	words := make([]uint32, len(b)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	s := &Stream{}
	for i := 1; i < len(words); {
		n, err := s.action(words[i], words[i+1:])
		if err != nil {
			return nil, err
		}
		i += 1 + n
	}
	if s.Config == nil || len(s.Words) == 0 {
		return nil, fmt.Errorf("no command stream with a configuration in the driver's actions")
	}
	return s, nil
}

// action reads one action, and says how many words belong to it.
func (s *Stream) action(w uint32, left []uint32) (n int, err error) {
	switch w & 0xFF {
	case actReserved, actNop, actDump, actRead:
	case actConfig:
		if n = 2; len(left) < n {
			return 0, fmt.Errorf("cut short: the action of the configuration has %d words, want 2", len(left))
		}
		if s.Config, err = configOf(left[0]); err == nil && left[1]>>28 != architecture>>28 {
			err = fmt.Errorf("the stream is for version %d of the architecture, which drivers compare with the "+
				"device's; want 1", left[1]>>28)
		}
	case actCommands:
		if n = int(w>>16 | w>>8&0xFF<<16); n > len(left) || 4*n > maxStream {
			return 0, fmt.Errorf("cut short: the command stream has %d words, %d are there", n, len(left))
		}
		if s.Words != nil {
			return 0, fmt.Errorf("a second command stream, want one")
		}
		s.Words = left[:n]
	default:
		err = fmt.Errorf("driver action %d is unknown, want 1 to 5", w&0xFF)
	}
	return n, err
}

// value is what a register holds.
type value struct {
	word  uint32 // of 16 or 32 bits
	param uint16 // of wide ones: the bits above, or the shift
	set   bool
}

// state is what a stream has set.
type state struct {
	cfg  *Config
	regs map[reg]value
}

// put checks and sets a register.
func (s *state) put(r reg, param uint16, word uint32) error {
	w, ok := registers[r]
	if !ok {
		return fmt.Errorf("register %#x is unknown", uint16(r))
	}
	v := value{word, param, true}
	if r&wide == 0 {
		v = value{uint32(param), 0, true}
	}
	most := w.most
	switch {
	case most == signed:
		most = word16
	case most == address:
		most = 1<<s.cfg.addressBits() - 1
	case most == scaled:
		if param > 63 {
			return fmt.Errorf("%s shifts by %d, want at most 63", w.name, param)
		}
		most = 1<<48 - 1
	}
	if got := int64(v.word) | int64(v.param)<<32; got > most {
		return fmt.Errorf("%s is %d, want at most %d", w.name, got, most)
	}
	s.regs[r] = v
	return nil
}

// visitor gets what a stream starts, and how many operations may be in flight when it goes on.
type visitor interface {
	op(at int, st *state, code, param int) error
	wait(dma bool, n int)
}

// walk gives a stream's commands.
func (s *Stream) walk(v visitor) error {
	st := &state{cfg: s.Config, regs: map[reg]value{}}
	for i := 0; i < len(s.Words); i++ {
		at, code := i, s.Words[i]&0xFFFF
		var second uint32
		if code&0xC000 == wide {
			if i++; i == len(s.Words) {
				return fmt.Errorf("word %d: cut short: the command's second word is not there", at)
			}
			second = s.Words[i]
		}
		if code == doStop && at == len(s.Words)-1 {
			return nil
		}
		if err := st.command(v, at, code, uint16(s.Words[at]>>16), second); err != nil {
			return fmt.Errorf("word %d: %w", at, err)
		}
	}
	return fmt.Errorf("cut short: %d words without NPU_OP_STOP", len(s.Words))
}

// command executes one command.
func (s *state) command(v visitor, at int, code uint32, param uint16, second uint32) error {
	switch code {
	case doStop:
		return fmt.Errorf("it stops in front of more words")
	case doInterrupt, doPMU:
		return nil
	case doDMAWait, doKernelWait:
		v.wait(code == doDMAWait, int(param))
		return nil
	case doConv, doDepthwise, doPool, doElementwise, doDMA:
		return v.op(at, s, int(code), int(param))
	}
	return s.put(reg(code), param, second)
}
