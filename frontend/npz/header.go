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

// Header describes an array in a file before its data is read.
type Header struct {
	DType   string // as Array.DType
	Shape   []int
	Fortran bool // the file holds the elements in column-major order
	Big     bool // the file holds the elements in big-endian byte order
	Bytes   int  // length of the header in the file; the data follow
	count   int
}

// DataBytes is the length of the data in the file.
func (h *Header) DataBytes() int { return h.count * dtypes[h.DType].size }

func readHeader(r io.Reader) (*Header, error) {
	var pre [8]byte
	if _, err := io.ReadFull(r, pre[:]); err != nil {
		return nil, short(err, "the file ends within the .npy magic")
	}
	if string(pre[:6]) != magic {
		return nil, fmt.Errorf("npz: not a .npy file: it starts with % x, want %q", pre[:6], magic)
	}
	var n, skip int
	switch pre[6] {
	case 1:
		var b [2]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, short(err, "the file ends within the .npy header")
		}
		n, skip = int(binary.LittleEndian.Uint16(b[:])), 10
	case 2, 3:
		var b [4]byte
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return nil, short(err, "the file ends within the .npy header")
		}
		u := binary.LittleEndian.Uint32(b[:])
		if u > maxHeader {
			return nil, fmt.Errorf("npz: .npy header of %d bytes, at most %d is accepted", u, maxHeader)
		}
		n, skip = int(u), 12
	default:
		return nil, fmt.Errorf("npz: .npy format version %d.%d, versions 1 to 3 are known", pre[6], pre[7])
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, short(err, "the file ends within the .npy header")
	}
	if !utf8.Valid(text) {
		return nil, errors.New("npz: .npy header is not text")
	}
	h, err := parseHeader(string(text))
	if err != nil {
		return nil, err
	}
	h.Bytes = skip + n
	return h, nil
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
func parseHeader(s string) (_ *Header, err error) {
	defer fail.Catch(&err)
	p := &literal{s: s}
	h := &Header{}
	seen := map[string]bool{}
	fail.Check(p.expect('{'))
	for !p.accept('}') {
		key := fail.Must(p.str())
		if seen[key] {
			return nil, fmt.Errorf("npz: .npy header has the key %q twice", key)
		}
		seen[key] = true
		fail.Check(p.expect(':'))
		switch key {
		case "descr":
			if p.peek() == '[' || p.peek() == '(' {
				return nil, errors.New("npz: the array has a structured dtype; only plain numeric arrays are read")
			}
			d := fail.Must(p.str())
			h.DType, h.Big = fail.Must2(parseDescr(d))
		case "fortran_order":
			switch w := p.word(); w {
			case "True":
				h.Fortran = true
			case "False":
			default:
				return nil, fmt.Errorf("npz: fortran_order is %q in the .npy header, want True or False", w)
			}
		case "shape":
			h.Shape = fail.Must(p.tuple())
		default:
			return nil, fmt.Errorf("npz: unknown key %q in the .npy header", key)
		}
		if !p.accept(',') {
			fail.Check(p.expect('}'))
			break
		}
	}
	if p.space(); p.i < len(p.s) {
		return nil, fmt.Errorf("npz: text after the .npy header's dictionary: %.20q", p.s[p.i:])
	}
	for _, k := range []string{"descr", "fortran_order", "shape"} {
		if !seen[k] {
			return nil, fmt.Errorf("npz: .npy header lacks %q", k)
		}
	}
	n := fail.Must(elements(h.Shape))
	if _, err := elements([]int{n, dtypes[h.DType].size}); err != nil {
		return nil, fmt.Errorf("npz: shape %v of %s overflows the size of memory", h.Shape, h.DType)
	}
	h.count = n
	return h, nil
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

func (p *literal) expect(c byte) error {
	if !p.accept(c) {
		return fmt.Errorf("npz: malformed .npy header at byte %d: want %q", p.i, c)
	}
	return nil
}

func (p *literal) str() (string, error) {
	q := p.peek()
	if q != '\'' && q != '"' {
		return "", fmt.Errorf("npz: malformed .npy header at byte %d: want a quoted word", p.i)
	}
	end := strings.IndexByte(p.s[p.i+1:], q)
	if end < 0 {
		return "", fmt.Errorf("npz: malformed .npy header: the quote at byte %d is never closed", p.i)
	}
	v := p.s[p.i+1 : p.i+1+end]
	p.i += end + 2
	if strings.ContainsRune(v, '\\') {
		return "", fmt.Errorf("npz: escape in the .npy header's %q", v)
	}
	return v, nil
}

func (p *literal) word() string {
	p.space()
	j := p.i
	for j < len(p.s) && (p.s[j] >= 'a' && p.s[j] <= 'z' || p.s[j] >= 'A' && p.s[j] <= 'Z' || p.s[j] >= '0' &&
		p.s[j] <= '9' || p.s[j] == '-') {
		j++
	}
	w := p.s[p.i:j]
	p.i = j
	return w
}

// tuple reads "()", "(3,)", "(3, 4)" or "(3, 4,)"; Python 2 wrote "3L".
func (p *literal) tuple() ([]int, error) {
	if err := p.expect('('); err != nil {
		return nil, err
	}
	shape := []int{}
	for !p.accept(')') {
		w := p.word()
		n, err := strconv.ParseInt(strings.TrimSuffix(w, "L"), 10, strconv.IntSize)
		if err != nil {
			return nil, fmt.Errorf("npz: %q in the .npy header's shape, want a whole number", w)
		}
		if shape = append(shape, int(n)); len(shape) > maxRank {
			return nil, fmt.Errorf("npz: rank above %d in the .npy header", maxRank)
		}
		if !p.accept(',') {
			if err := p.expect(')'); err != nil {
				return nil, err
			}
			break
		}
	}
	return shape, nil
}
