package driver

import (
	"fmt"
	"os"

	"github.com/nncc/nncc/lower/target/mla/lm"
)

// ReadSegment reads and checks a segment file. A damaged one is bad input.
func ReadSegment(path string) (*lm.Segment, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, &InputError{err}
	}
	if st.IsDir() || st.Size() > lm.MaxBytes {
		return nil, &InputError{fmt.Errorf("%s: a folder, or larger than the %d bytes that a segment file may have", path, lm.MaxBytes)}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &InputError{err}
	}
	s, err := lm.Decode(data)
	if err != nil {
		return nil, &InputError{fmt.Errorf("%s: %w", path, err)}
	}
	return s, nil
}
