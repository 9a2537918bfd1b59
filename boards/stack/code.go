// SPDX-License-Identifier: Apache-2.0

package stack

// Code is the machine code of one function.
type Code struct {
	Name       string
	Start, End uint32
	Bytes      []byte
	body       *body
}

// IsData reports an address in a literal pool or a table.
func (c *Code) IsData(addr uint32) bool { return c.body.isData(addr) }

// Codes are the functions of a linked ELF file for a 32-bit Arm core, in the order of
// their addresses.
func Codes(program string) ([]Code, error) {
	im, err := read(program)
	if err != nil {
		return nil, err
	}
	var out []Code
	for i := range im.bodies {
		b := &im.bodies[i]
		out = append(out, Code{b.name, b.start, b.end, b.code, b})
	}
	return out, nil
}
