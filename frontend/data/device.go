// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/preprocess"
)

// Device is what firmware does to get an input from its camera or microphone: Image or
// Sound.
type Device struct {
	Input   string
	Image   *preprocess.Image
	Values  []preprocess.Values // of Image, by channel
	Strides preprocess.Strides  // of Image, in the input's logical order
	Sound   *preprocess.Sound
	Rate    int    // of Sound, samples a second; 0: not said
	Says    string // what becomes of a frame or recording
}

// Emits reports whether code is wanted for any input.
func (s *Spec) Emits() bool {
	if s == nil {
		return false
	}
	return slices.ContainsFunc(slices.AppendSeq([]*Input{&s.All}, maps.Values(s.Inputs)), func(in *Input) bool {
		return in.Image != nil && in.Image.Emit || in.Sound != nil && in.Sound.Emit
	})
}

// Devices are the inputs for which code is wanted (emit). in are the model's inputs.
func (s *Spec) Devices(in []*ir.Value) (_ []Device, err error) {
	defer fail.Catch(&err)
	if s == nil {
		return nil, nil
	}
	fail.Check(s.Check(ir.Names(in)))
	var out []Device
	for _, v := range in {
		d := s.Of(v.Name)
		image, sound := d.Image != nil && d.Image.Emit, d.Sound != nil && d.Sound.Emit
		switch {
		case image && sound:
			return nil, fmt.Errorf("--preprocess: input %s: emit is said of image and of audio; want one of them",
				v.Name)
		case image:
			if err := fail.Caught(func() { out = append(out, d.Image.device(v)) }); err != nil {
				return nil, fmt.Errorf("--preprocess: %w", err)
			}
			d.Image.used = true
		case sound:
			r, err := NewRecording(v, d.Sound)
			fail.If(err != nil, "--preprocess: %w", err)
			d.Sound.used = true
			out = append(out, Device{Input: v.Name, Sound: &r.Sound, Rate: d.Sound.Rate, Says: r.said()})
		}
	}
	return out, nil
}

// device is what firmware does with frames.
func (im *Image) device(v *ir.Value) Device {
	p := fail.Must(NewPicture(v, im))
	fail.If(im.FrameWidth == 0, "input %s: image.emit wants image.frame, WIDTHxHEIGHT of what the camera gives",
		v.Name)
	m := p.Image(im.FrameWidth, im.FrameHeight)
	err := m.Check()
	fail.If(err != nil, "image.frame: %w", err)
	fail.If(m.Width%2 == 1 && (m.Format == preprocess.YUYV || m.Format == preprocess.UYVY),
		"image.frame: %d x %d pixels as %s, which come in pairs; want an even width", m.Width, m.Height, m.Format)
	says := fmt.Sprintf("%d x %d pixels of %s become %s", m.Width, m.Height, m.Format, p)
	return Device{Input: v.Name, Image: m, Values: p.Values, Strides: p.Strides, Says: says}
}
