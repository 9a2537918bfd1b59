// SPDX-License-Identifier: Apache-2.0

package npz

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
)

// Limits bound what is read from one file. The zero value means DefaultLimits.
type Limits struct {
	// Bytes is the largest total of array data decoded from one file.
	Bytes int64
	// Entries is the largest number of arrays in one archive.
	Entries int
}

// DefaultLimits suit calibration sets and golden data of microcontroller models.
var DefaultLimits = Limits{Bytes: 256 << 20, Entries: 65536}

func (l Limits) orDefault() Limits {
	if l.Bytes == 0 {
		l.Bytes = DefaultLimits.Bytes
	}
	if l.Entries == 0 {
		l.Entries = DefaultLimits.Entries
	}
	return l
}

// ReadNpy reads one array from r, which must end with the array's data. The
// length of r need not be known: memory grows with the data that arrive.
func ReadNpy(r io.Reader, lim Limits) (*Array, error) {
	return readNpy(r, -1, false, lim.orDefault())
}

// ReadNpyFile reads a .npy file.
func ReadNpyFile(path string, lim Limits) (*Array, error) {
	f, st, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a, err := readNpy(bufio.NewReaderSize(f, 1<<16), st.Size(), true, lim.orDefault())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// readNpy reads an array; size is the length of the whole .npy image where it is
// known, else -1. Only a size that is on disk, unpacked, justifies making room for
// all data at once (onDisk); else memory grows with what arrives.
func readNpy(r io.Reader, size int64, onDisk bool, lim Limits) (_ *Array, err error) {
	defer fail.Catch(&err)
	h := fail.Must(readHeader(r))
	if int64(h.DataBytes()) > lim.Bytes {
		return nil, fmt.Errorf("npz: shape %v of %s is %d bytes, the limit is %d", h.Shape, h.DType, h.DataBytes(),
			lim.Bytes)
	}
	if size >= 0 && size-int64(h.Bytes) != int64(h.DataBytes()) {
		return nil, fmt.Errorf("npz: %d bytes of data for shape %v of %s, want %d", size-int64(h.Bytes), h.Shape,
			h.DType, h.DataBytes())
	}
	data := fail.Must(readData(r, h, onDisk))
	var one [1]byte
	if n, err := io.ReadFull(r, one[:]); n != 0 {
		return nil, fmt.Errorf("npz: bytes follow the data of the array of shape %v", h.Shape)
	} else if err != io.EOF {
		return nil, err
	}
	if h.Fortran && len(h.Shape) > 1 {
		data = fromFortran(data, h.Shape)
	}
	return &Array{DType: h.DType, Shape: h.Shape, Data: data}, nil
}

// readData reads h.count elements. When the file's length has confirmed the count
// (sized), the slice is made at once; else it grows.
func readData(r io.Reader, h *Header, sized bool) (any, error) {
	var o binary.ByteOrder = binary.LittleEndian
	if h.Big {
		o = binary.BigEndian
	}
	g := grower{r, h.count, sized}
	switch h.DType {
	case "bool":
		return read(g, 1, func(b []byte) bool { return b[0] != 0 })
	case "int8":
		return read(g, 1, func(b []byte) int8 { return int8(b[0]) })
	case "uint8":
		return read(g, 1, func(b []byte) uint8 { return b[0] })
	case "int16":
		return read(g, 2, func(b []byte) int16 { return int16(o.Uint16(b)) })
	case "uint16", "float16":
		return read(g, 2, o.Uint16)
	case "int32":
		return read(g, 4, func(b []byte) int32 { return int32(o.Uint32(b)) })
	case "uint32":
		return read(g, 4, o.Uint32)
	case "int64":
		return read(g, 8, func(b []byte) int64 { return int64(o.Uint64(b)) })
	case "uint64":
		return read(g, 8, o.Uint64)
	case "float32":
		if !h.Big { // the usual kind: without a call for each
			return readAll(g, 4, func(out []float32, b []byte) {
				for i := range out {
					out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
				}
			})
		}
		return read(g, 4, func(b []byte) float32 { return math.Float32frombits(o.Uint32(b)) })
	case "float64":
		return read(g, 8, func(b []byte) float64 { return math.Float64frombits(o.Uint64(b)) })
	case "complex64":
		return read(g, 8, func(b []byte) complex64 {
			return complex(math.Float32frombits(o.Uint32(b)), math.Float32frombits(o.Uint32(b[4:])))
		})
	case "complex128":
		return read(g, 16, func(b []byte) complex128 {
			return complex(math.Float64frombits(o.Uint64(b)), math.Float64frombits(o.Uint64(b[8:])))
		})
	}
	panic(bug.Errorf("npz: dtype %s has no reader", h.DType))
}

type grower struct {
	r     io.Reader
	count int
	sized bool
}

// read reads elements one by one.
func read[T any](g grower, size int, conv func([]byte) T) ([]T, error) {
	return readAll(g, size, func(out []T, b []byte) {
		for i := range out {
			out[i] = conv(b[i*size:])
		}
	})
}

// readAll reads elements, many at a time.
func readAll[T any](g grower, size int, conv func(out []T, b []byte)) ([]T, error) {
	const chunk = 1 << 12
	c := g.count
	if !g.sized {
		c = min(c, chunk)
	}
	out := make([]T, 0, c)
	buf := make([]byte, min(g.count, chunk)*size)
	for len(out) < g.count {
		n := min(g.count-len(out), chunk)
		if _, err := io.ReadFull(g.r, buf[:n*size]); err != nil {
			return nil, short(err, fmt.Sprintf("fewer than the %d bytes of data its shape needs", g.count*size))
		}
		out = slices.Grow(out, n)[:len(out)+n]
		conv(out[len(out)-n:], buf)
	}
	return out, nil
}

// fromFortran reorders column-major data into row-major order.
func fromFortran(data any, shape []int) any { return mapSlice(data, shape, true) }

// toFortran reorders row-major data into column-major order.
func toFortran(data any, shape []int) any { return mapSlice(data, shape, false) }

func mapSlice(data any, shape []int, from bool) any {
	switch d := data.(type) {
	case []bool:
		return reorder(d, shape, from)
	case []int8:
		return reorder(d, shape, from)
	case []int16:
		return reorder(d, shape, from)
	case []int32:
		return reorder(d, shape, from)
	case []int64:
		return reorder(d, shape, from)
	case []uint8:
		return reorder(d, shape, from)
	case []uint16:
		return reorder(d, shape, from)
	case []uint32:
		return reorder(d, shape, from)
	case []uint64:
		return reorder(d, shape, from)
	case []float32:
		return reorder(d, shape, from)
	case []float64:
		return reorder(d, shape, from)
	case []complex64:
		return reorder(d, shape, from)
	case []complex128:
		return reorder(d, shape, from)
	}
	panic(bug.Errorf("npz: %T is not array data", data))
}

// reorder walks the elements in row-major order while f follows their place in
// column-major order.
func reorder[T any](d []T, shape []int, from bool) []T {
	out := make([]T, len(d))
	step := make([]int, len(shape))
	s := 1
	for i, n := range shape {
		step[i] = s
		s *= n
	}
	idx := make([]int, len(shape))
	f := 0
	for c := range d {
		if from {
			out[c] = d[f]
		} else {
			out[f] = d[c]
		}
		for k := len(shape) - 1; k >= 0; k-- {
			idx[k]++
			f += step[k]
			if idx[k] < shape[k] {
				break
			}
			f -= step[k] * shape[k]
			idx[k] = 0
		}
	}
	return out
}

// Order says how an array is laid out in a file that is written.
type Order struct {
	Fortran bool // column-major
	Big     bool // big-endian
}

// WriteNpy writes the array as .npy version 1.0, row-major and little-endian.
// The same array always gives the same bytes.
func WriteNpy(w io.Writer, a *Array) error { return WriteNpyOrder(w, a, Order{}) }

// WriteNpyOrder is WriteNpy with another layout in the file.
func WriteNpyOrder(w io.Writer, a *Array, order Order) (err error) {
	defer fail.Catch(&err)
	n := fail.Must(elements(a.Shape))
	info, ok := dtypes[a.DType]
	t, have := typeOf(a.Data)
	if !ok || t != a.DType && !(a.DType == "float16" && t == "uint16") {
		return fmt.Errorf("npz: dtype %q does not fit data of type %T", a.DType, a.Data)
	}
	if have != n {
		return fmt.Errorf("npz: %d values for shape %v, want %d", have, a.Shape, n)
	}
	fail.Must(io.WriteString(w, headerText(a.Shape, info, order)))
	data := a.Data
	if order.Fortran && len(a.Shape) > 1 {
		data = toFortran(data, a.Shape)
	}
	var o binary.ByteOrder = binary.LittleEndian
	if order.Big {
		o = binary.BigEndian
	}
	bw := bufio.NewWriterSize(w, 1<<16)
	fail.Check(binary.Write(bw, o, data))
	return bw.Flush()
}

// headerText is the whole header, padded so that the data start at a multiple of 64.
func headerText(shape []int, info dtypeInfo, order Order) string {
	var b strings.Builder
	end := "<"
	if order.Big {
		end = ">"
	}
	if info.size == 1 {
		end = "|"
	}
	f := "False"
	if order.Fortran {
		f = "True"
	}
	fmt.Fprintf(&b, "{'descr': '%s%s', 'fortran_order': %s, 'shape': (", end, info.code, f)
	for i, d := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, d)
	}
	if len(shape) == 1 {
		b.WriteByte(',')
	}
	b.WriteString("), }")
	const fixed = 10 // magic, version, length
	pad := 63 - (fixed+b.Len())%64
	b.WriteString(strings.Repeat(" ", pad))
	b.WriteByte('\n')
	text := b.String()
	return magic + "\x01\x00" + string([]byte{byte(len(text)), byte(len(text) >> 8)}) + text
}
