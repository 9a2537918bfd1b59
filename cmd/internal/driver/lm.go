package driver

import (
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/lower/accel/mla/lm"
)

// ReadSegment reads and checks a segment file. A damaged one is bad input.
func ReadSegment(path string) (*lm.Segment, error) {
	data, err := files.Read(path, lm.MaxBytes)
	if err != nil {
		return nil, &InputError{err}
	}
	s, err := lm.Decode(data)
	if err != nil {
		return nil, badInput("%s: %w", path, err)
	}
	return s, nil
}
