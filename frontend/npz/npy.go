// SPDX-License-Identifier: Apache-2.0

package npz

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
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
func ReadNpyFile(path string, lim Limits) (_ *Array, err error) {
	defer fail.Catch(&err)
	f, st := fail.Must2(files.Open(path))
	defer f.Close()
	a, err := readNpy(bufio.NewReaderSize(f, 1<<16), st.Size(), true, lim.orDefault())
	fail.If(err != nil, "%s: %w", path, err)
	return a, nil
}

// readNpy reads an array; size is the length of the whole .npy image where it is
// known, else -1. Only a size that is on disk, unpacked, justifies making room for
// all data at once (onDisk); else memory grows with what arrives.
func readNpy(r io.Reader, size int64, onDisk bool, lim Limits) (_ *Array, err error) {
	defer fail.Catch(&err)
	h := readHeader(r)
	fail.If(int64(h.dataBytes()) > lim.Bytes, "npz: shape %v of %s is %d bytes, the limit is %d", h.shape, h.dtype,
		h.dataBytes(), lim.Bytes)
	fail.If(size >= 0 && size-int64(h.bytes) != int64(h.dataBytes()),
		"npz: %d bytes of data for shape %v of %s, want %d", size-int64(h.bytes), h.shape, h.dtype, h.dataBytes())
	data := fail.Must(readData(r, h, onDisk))
	var one [1]byte
	if n, err := io.ReadFull(r, one[:]); n != 0 {
		return nil, fmt.Errorf("npz: bytes follow the data of the array of shape %v", h.shape)
	} else if err != io.EOF {
		return nil, err
	}
	if h.fortran && len(h.shape) > 1 {
		data = rowMajor(data, h.shape)
	}
	return &Array{DType: h.dtype, Shape: h.shape, Data: data}, nil
}

// readData reads h.count elements. When the file's length has confirmed the count
// (sized), the slice is made at once; else it grows with what arrives.
func readData(r io.Reader, h *header, sized bool) (any, error) {
	const chunk = 1 << 12
	info := dtypes[h.dtype]
	out := reflect.New(info.slice).Elem()
	if sized {
		out.Grow(h.count)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if h.big {
		order = binary.BigEndian
	}
	buf := make([]byte, min(h.count, chunk)*info.size)
	for at := 0; at < h.count; at = out.Len() {
		n := min(h.count-at, chunk)
		if _, err := io.ReadFull(r, buf[:n*info.size]); err != nil {
			return nil, short(err, fmt.Sprintf("fewer than the %d bytes of data its shape needs", h.count*info.size))
		}
		out.Grow(n)
		out.SetLen(at + n)
		if _, err := binary.Decode(buf[:n*info.size], order, out.Slice(at, at+n).Interface()); err != nil {
			return nil, bug.Errorf("npz: dtype %s: %w", h.dtype, err)
		}
	}
	if out.IsNil() {
		out.Set(reflect.MakeSlice(info.slice, 0, 0))
	}
	return out.Interface(), nil
}

// rowMajor gives data that are in column-major order in row-major order.
func rowMajor(data any, shape []int) any {
	d := reflect.ValueOf(data)
	out := reflect.MakeSlice(d.Type(), d.Len(), d.Len())
	idx := make([]int, len(shape))
	for c := range d.Len() {
		f := 0
		for k := len(shape) - 1; k >= 0; k-- {
			f = f*shape[k] + idx[k]
		}
		out.Index(c).Set(d.Index(f))
		for k := len(shape) - 1; k >= 0; k-- {
			if idx[k]++; idx[k] < shape[k] {
				break
			}
			idx[k] = 0
		}
	}
	return out.Interface()
}

// WriteNpy writes the array as .npy version 1.0, row-major and little-endian.
// The same array always gives the same bytes.
func WriteNpy(w io.Writer, a *Array) (err error) {
	defer fail.Catch(&err)
	n := fail.Must(elements(a.Shape))
	info, ok := dtypes[a.DType]
	t, have := typeOf(a.Data)
	fail.If(!ok || t != a.DType && !(a.DType == "float16" && t == "uint16"),
		"npz: dtype %q does not fit data of type %T", a.DType, a.Data)
	fail.If(have != n, "npz: %d values for shape %v, want %d", have, a.Shape, n)
	fail.Must(io.WriteString(w, headerText(a.Shape, info)))
	bw := bufio.NewWriterSize(w, 1<<16)
	fail.Check(binary.Write(bw, binary.LittleEndian, a.Data))
	return bw.Flush()
}

// headerText is the whole header, padded so that the data start at a multiple of 64.
func headerText(shape []int, info dtypeInfo) string {
	var b strings.Builder
	end := "<"
	if info.size == 1 {
		end = "|"
	}
	fmt.Fprintf(&b, "{'descr': '%s%s', 'fortran_order': False, 'shape': (", end, info.code)
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
