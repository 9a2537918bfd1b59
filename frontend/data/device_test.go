// SPDX-License-Identifier: Apache-2.0

package data_test

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// TestDevices: what firmware is to do, and why it cannot.
func TestDevices(t *testing.T) {
	g := ir.New("g")
	g.AddInput("eye", ir.T(tensor.F32, 1, 8, 10, 3))
	g.AddInput("ear", ir.T(tensor.F32, 2, 3, 40))
	for _, c := range []struct{ spec, want string }{
		{"eye:image.emit=true eye:image.frame=40x20", ""},
		{"ear:audio.emit=true ear:audio.window=40 ear:audio.rate=8000", ""},
		{"eye:image.emit=true", "image.emit wants image.frame"},
		{"eye:image.emit=true eye:image.frame=3x2 eye:image.format=uyvy", "want an even width"},
		{"eye:image.emit=true eye:audio.emit=true eye:image.frame=4x4", "emit is said of image and of audio"},
		{"ear:image.emit=true ear:image.frame=4x4", "takes no pictures"},
		{"ear:audio.emit=true ear:audio.window=7", "no frames of audio.window"},
		{"nose:image.emit=true", "no input nose"},
		{"image.emit=1", "want one of true, false"},
	} {
		var list []data.Device
		s, err := data.Parse(strings.Fields(c.spec))
		if err == nil {
			list, err = s.Devices(g.In)
		}
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q in it", c.spec, err, c.want)
		case c.want == "" && (err != nil || len(list) != 1 || !s.Emits()):
			t.Errorf("%s: %v, %v", c.spec, list, err)
		}
	}
}
