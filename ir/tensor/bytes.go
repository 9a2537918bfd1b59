package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Bytes is the little-endian memory image, row-major, one byte per I4/U4
// element, as emitted C and .npy files hold it.
func (d *Dense) Bytes() []byte {
	n := d.Len()
	b := make([]byte, 0, n*d.DType.Size())
	le := binary.LittleEndian
	switch s := d.Data.(type) {
	case []float32:
		for _, v := range s {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
	case []float64:
		for _, v := range s {
			b = le.AppendUint64(b, math.Float64bits(v))
		}
	case []int8:
		for _, v := range s {
			b = append(b, byte(v))
		}
	case []uint8:
		b = append(b, s...)
	case []int16:
		for _, v := range s {
			b = le.AppendUint16(b, uint16(v))
		}
	case []uint16:
		for _, v := range s {
			b = le.AppendUint16(b, v)
		}
	case []int32:
		for _, v := range s {
			b = le.AppendUint32(b, uint32(v))
		}
	case []uint32:
		for _, v := range s {
			b = le.AppendUint32(b, v)
		}
	case []int64:
		for _, v := range s {
			b = le.AppendUint64(b, uint64(v))
		}
	case []uint64:
		for _, v := range s {
			b = le.AppendUint64(b, v)
		}
	case []bool:
		for _, v := range s {
			if v {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		}
	default:
		panic(fmt.Sprintf("BUG: tensor data of type %T", d.Data))
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
	le := binary.LittleEndian
	switch s := d.Data.(type) {
	case []float32:
		for i := range s {
			s[i] = math.Float32frombits(le.Uint32(b[4*i:]))
		}
	case []float64:
		for i := range s {
			s[i] = math.Float64frombits(le.Uint64(b[8*i:]))
		}
	case []int8:
		for i := range s {
			s[i] = int8(b[i])
		}
	case []uint8:
		copy(s, b)
	case []int16:
		for i := range s {
			s[i] = int16(le.Uint16(b[2*i:]))
		}
	case []uint16:
		for i := range s {
			s[i] = le.Uint16(b[2*i:])
		}
	case []int32:
		for i := range s {
			s[i] = int32(le.Uint32(b[4*i:]))
		}
	case []uint32:
		for i := range s {
			s[i] = le.Uint32(b[4*i:])
		}
	case []int64:
		for i := range s {
			s[i] = int64(le.Uint64(b[8*i:]))
		}
	case []uint64:
		for i := range s {
			s[i] = le.Uint64(b[8*i:])
		}
	case []bool:
		for i := range s {
			s[i] = b[i] != 0
		}
	}
	return d, nil
}
