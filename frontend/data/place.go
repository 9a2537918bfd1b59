// SPDX-License-Identifier: Apache-2.0

package data

import (
	"bytes"
	"fmt"
	"image"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/preprocess"
)

// Place says where the picture of sample i lies in its input; nil: it is none, or is not
// resized.
func (s *Set) Place(i int) (*preprocess.Image, error) {
	it := &s.items[i]
	if it.picture == nil {
		return nil, nil
	}
	b, err := files.Read(it.path, maxPictureBytes)
	if err == nil {
		var c image.Config
		if c, _, err = image.DecodeConfig(bytes.NewReader(b)); err == nil {
			m := it.picture.Image(c.Width, c.Height)
			if err = m.Check(); err == nil {
				return m, nil
			}
		}
	}
	return nil, s.err(it.path, "%w", fmt.Errorf("the picture's size: %w", err))
}
