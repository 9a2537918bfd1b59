// SPDX-License-Identifier: Apache-2.0

package tensor

import (
	"encoding/binary"
	"fmt"

	"github.com/nncc/nncc/ir/bug"
)

// Bytes is the little-endian memory image, row-major, one byte per I4/U4
// element, as emitted C and .npy files hold it.
func (d *Dense) Bytes() []byte {
	b, err := binary.Append(make([]byte, 0, d.Len()*d.DType.Size()), binary.LittleEndian, d.Data)
	if err != nil {
		panic(bug.Errorf("tensor data of type %T: %v", d.Data, err))
	}
	return b
}

// FromBytes is the inverse of Bytes; the length must match the shape.
func FromBytes(dt DType, shape []int, b []byte) (*Dense, error) {
	n, err := Elems(shape)
	if err != nil {
		return nil, err
	}
	if len(b) != n*dt.Size() {
		return nil, fmt.Errorf("%s%v needs %d bytes, got %d", dt, shape, n*dt.Size(), len(b))
	}
	d := New(dt, shape)
	if _, err := binary.Decode(b, binary.LittleEndian, d.Data); err != nil {
		panic(bug.Errorf("tensor data of type %T: %v", d.Data, err))
	}
	return d, nil
}

// CopyElem sets element i to element j of src, of the same type, bit for bit.
func (d *Dense) CopyElem(i int, src *Dense, j int) { d.Copy(i, src, j, 1) }
