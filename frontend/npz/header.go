// SPDX-License-Identifier: Apache-2.0

package npz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nncc/nncc/ir/fail"
)

// magic starts every .npy file; two version bytes follow.
const magic = "\x93NUMPY"

// maxHeader bounds the text header; plain numeric arrays need about 100 bytes.
const maxHeader = 1 << 16

// ErrText is in the error for an array of text, which people put beside numbers as a note.
var ErrText = errors.New("an array of text has no numbers")

// header describes an array in a file before its data is read.
type header struct {
	dtype   string // as Array.DType
	shape   []int
	fortran bool // the file holds the elements in column-major order
	big     bool // the file holds the elements in big-endian byte order
	bytes   int  // length of the header in the file; the data follow
	count   int
}

func (h *header) dataBytes() int { return h.count * dtypes[h.dtype].size }

func readHeader(r io.Reader) *header {
	pre := fail.Must(next(r, 8, "magic"))
	fail.If(string(pre[:6]) != magic, "npz: not a .npy file: it starts with % x, want %q", pre[:6], magic)
	size := 4 // of the length
	switch pre[6] {
	case 1:
		size = 2
	case 2, 3:
	default:
		fail.Errorf("npz: .npy format version %d.%d, versions 1 to 3 are known", pre[6], pre[7])
	}
	var length [4]byte
	copy(length[:], fail.Must(next(r, size, "header")))
	n := binary.LittleEndian.Uint32(length[:])
	fail.If(n > maxHeader, "npz: .npy header of %d bytes, at most %d is accepted", n, maxHeader)
	text := fail.Must(next(r, int(n), "header"))
	fail.If(!utf8.Valid(text), "npz: .npy header is not text")
	h := parseHeader(string(text))
	h.bytes = 8 + size + int(n)
	return h
}

// next reads n bytes of a part of the header.
func next(r io.Reader, n int, what string) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, short(err, "the file ends within the .npy "+what)
}

// short turns an early end of file into a message; other errors pass.
func short(err error, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("npz: truncated: %s", what)
	}
	return err
}

// parseHeader understands the Python dictionary literal that NumPy writes: the
// keys descr, fortran_order and shape, each once, in any order.
func parseHeader(s string) *header {
	p := &literal{s: s}
	h := &header{}
	seen := map[string]bool{}
	p.expect('{')
	for !p.accept('}') {
		key := p.str()
		fail.If(seen[key], "npz: .npy header has the key %q twice", key)
		seen[key] = true
		p.expect(':')
		fail.Check(h.entry(key, p))
		if !p.accept(',') {
			p.expect('}')
			break
		}
	}
	if p.space(); p.i < len(p.s) {
		fail.Errorf("npz: text after the .npy header's dictionary: %.20q", p.s[p.i:])
	}
	for _, k := range []string{"descr", "fortran_order", "shape"} {
		fail.If(!seen[k], "npz: .npy header lacks %q", k)
	}
	h.count = fail.Must(elements(h.shape))
	if _, err := elements([]int{h.count, dtypes[h.dtype].size}); err != nil {
		fail.Errorf("npz: shape %v of %s overflows the size of memory", h.shape, h.dtype)
	}
	return h
}

// entry reads the value of a key.
func (h *header) entry(key string, p *literal) (err error) {
	switch key {
	case "descr":
		if p.peek() == '[' || p.peek() == '(' {
			return errors.New("npz: the array has a structured dtype; only plain numeric arrays are read")
		}
		h.dtype, h.big, err = parseDescr(p.str())
	case "fortran_order":
		w := p.word()
		if h.fortran = w == "True"; !h.fortran && w != "False" {
			return fmt.Errorf("npz: fortran_order is %q in the .npy header, want True or False", w)
		}
	case "shape":
		h.shape = p.tuple()
	default:
		return fmt.Errorf("npz: unknown key %q in the .npy header", key)
	}
	return err
}

// parseDescr reads a type string: byte order, kind and size, as in "<f4".
func parseDescr(d string) (dtype string, big bool, err error) {
	code := d
	if d != "" && strings.ContainsRune("<>=|", rune(d[0])) {
		big, code = d[0] == '>', d[1:]
	}
	if name, ok := byCode[code]; ok {
		return name, big, nil
	}
	if code == "?" {
		return "bool", big, nil
	}
	why := ""
	switch {
	case strings.HasPrefix(code, "O"):
		why = " (pickled Python objects are never read)"
	case strings.HasPrefix(code, "V"):
		why = " (raw bytes, as extension types such as bfloat16 are saved: convert to float32 first)"
	case strings.HasPrefix(code, "U"), strings.HasPrefix(code, "S"):
		return "", false, fmt.Errorf("npz: dtype %.32q: %w", d, ErrText)
	}
	return "", false, fmt.Errorf(
		"npz: dtype %.32q%s; want bool, an integer of 8 to 64 bits, float16, float32, float64 or complex", d, why)
}

// literal is a cursor over a Python literal; what is malformed ends the function that defers fail.Catch.
type literal struct {
	s string
	i int
}

func (p *literal) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
}

func (p *literal) peek() byte {
	p.space()
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *literal) accept(c byte) bool {
	if p.peek() == c {
		p.i++
		return true
	}
	return false
}

func (p *literal) expect(c byte) {
	fail.If(!p.accept(c), "npz: malformed .npy header at byte %d: want %q", p.i, c)
}

func (p *literal) str() string {
	q := p.peek()
	fail.If(q != '\'' && q != '"', "npz: malformed .npy header at byte %d: want a quoted word", p.i)
	v, _, closed := strings.Cut(p.s[p.i+1:], string(q))
	fail.If(!closed, "npz: malformed .npy header: the quote at byte %d is never closed", p.i)
	p.i += len(v) + 2
	fail.If(strings.ContainsRune(v, '\\'), "npz: escape in the .npy header's %q", v)
	return v
}

func (p *literal) word() string {
	p.space()
	rest := p.s[p.i:]
	w := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"))]
	p.i += len(w)
	return w
}

// tuple reads "()", "(3,)", "(3, 4)" or "(3, 4,)"; Python 2 wrote "3L".
func (p *literal) tuple() []int {
	p.expect('(')
	shape := []int{}
	for !p.accept(')') {
		w := p.word()
		n, err := strconv.ParseInt(strings.TrimSuffix(w, "L"), 10, strconv.IntSize)
		fail.If(err != nil, "npz: %q in the .npy header's shape, want a whole number", w)
		if shape = append(shape, int(n)); len(shape) > maxRank {
			fail.Check(fmt.Errorf("npz: rank above %d in the .npy header", maxRank))
		}
		if !p.accept(',') {
			p.expect(')')
			break
		}
	}
	return shape
}
