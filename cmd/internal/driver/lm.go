package driver

import (
	"fmt"
	"os"

	"github.com/nncc/nncc/lower/target/mla/lm"
)

// ReadSegment reads and checks a segment file. A damaged one is bad input.
func ReadSegment(path string) (*lm.Segment, error) {
	data, err := readRegular(path, lm.MaxBytes)
	if err != nil {
		return nil, &InputError{err}
	}
	s, err := lm.Decode(data)
	if err != nil {
		return nil, &InputError{fmt.Errorf("%s: %w", path, err)}
	}
	return s, nil
}

// readRegular reads a file of at most so many bytes. Devices and pipes, which
// may never end, are refused.
func readRegular(path string, most int64) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", path)
	case st.Size() > most:
		return nil, fmt.Errorf("%s: %d bytes, at most %d are read", path, st.Size(), most)
	}
	return os.ReadFile(path)
}
