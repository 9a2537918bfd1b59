// SPDX-License-Identifier: Apache-2.0

package data_test

import (
	"encoding/binary"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/frontend/data"
)

// TestIdle: declared keys that do nothing are named, those that do are not.
func TestIdle(t *testing.T) {
	dir := t.TempDir()
	write(t, encodePNG(t, flat(5, 4, color.White)), dir, "p", "a.png")
	for _, c := range []struct{ keys, want string }{
		{"image.scale=1", ""},
		{"image.scale=1 image.pad=3", "image.pad, which wants image.resize=fit"},
		{"image.resize=fit image.pad=3", ""},
		{"image.range=full", "image.range, which wants image.format"},
		{"image.range=full image.format=yuyv", ""},
		{"image.frame=4x4", "image.frame, which wants image.emit"},
		{"image.scale=1 audio.rate=8000", "audio has had no effect: no recording was read"},
		{"csv.scale=2 image.scale=1", "csv has had no effect: no table was read"},
	} {
		sp := testenv.Must(data.Parse(strings.Fields(c.keys)))(t)
		s := testenv.Must(data.Open([]string{filepath.Join(dir, "p")}, input(1, 3, 4, 5), data.Options{Spec: sp}))(t)
		sample(t, s, 0)
		var got []string
		for _, d := range sp.Idle() {
			got = append(got, d.Error())
		}
		text := strings.Join(got, "; ")
		testenv.Check(t, len(got) <= 1 && (text == "") == (c.want == "") && strings.Contains(text, c.want),
			"%s: %q, want %q", c.keys, text, c.want)
	}
	for _, key := range []string{"image.scale=0", "csv.scale=0", "audio.scale=0", "image.scale=0/255"} {
		_, err := data.Parse([]string{key})
		testenv.Check(t, err != nil, "%s is accepted", key)
	}
}

// TestLabelsThatAreLost: files beside folders of classes, folders that a file of labels
// contradicts, and names of classes that the folders do not have are said.
func TestLabelsThatAreLost(t *testing.T) {
	dir := t.TempDir()
	png := encodePNG(t, flat(5, 4, color.White))
	for _, f := range []string{"cat/1.png", "cat/2.png", "dog/3.png"} {
		write(t, png, append([]string{dir, "f"}, strings.Split(f, "/")...)...)
	}
	labelled := func(o data.Options) (*data.Set, error) {
		o.Labelled = true
		return data.Open([]string{filepath.Join(dir, "f")}, input(1, 3, 4, 5), o)
	}
	s, err := labelled(data.Options{})
	testenv.Require(t, err == nil && s.Sorted && s.Label(2) == 1, "%+v, %v", s, err)
	s, err = labelled(data.Options{Classes: []string{"dog", "cow", "cat"}})
	testenv.Check(t, err == nil && !s.Sorted && s.Label(0) == 2, "%+v, %v", s, err)
	if _, err = labelled(data.Options{Classes: []string{"dog", "caat"}}); err == nil ||
		!strings.Contains(err.Error(), "class cat is none of the list's (did you mean caat?)") {
		t.Errorf("%v", err)
	}
	said := func(s *data.Set, err error) string {
		testenv.OK(t, err)
		all := ""
		for _, d := range s.Diags {
			all += d.Error() + "; "
		}
		return all
	}
	list := filepath.Join(dir, "f", "labels.csv")
	testenv.OK(t, os.WriteFile(list, []byte("cat/1.png,cat\ncat/2.png,dog\ndog/3.png,dog\n"), 0o666))
	if got := said(labelled(data.Options{})); !strings.Contains(got, "cat/2.png is of class dog, and it lies in the "+
		"folder cat") {
		t.Errorf("a contradiction: %q", got)
	}
	os.Remove(list)
	write(t, png, dir, "f", "loose.png")
	got := said(labelled(data.Options{}))
	testenv.Check(t, strings.Contains(got, `1 files lie beside the folders (["loose.png"])`), "a loose file: %q", got)
}

// TestEmptySound: a part "data" of no bytes is no sound, whatever follows it; where the
// recorder did not end, the sound goes on to the end of the file.
func TestEmptySound(t *testing.T) {
	dir := t.TempDir()
	b := wav(1, 1, 8000, 16, pcm(1, 2, 3))
	empty := append(append([]byte{}, b[:40]...), 0, 0, 0, 0)
	empty = append(empty, "LIST\x04\x00\x00\x00INFO"...)
	open0 := patched(patched(b, 40, 0), 4, 0)
	openMax := patched(b, 40, math.MaxUint32)
	binary.LittleEndian.PutUint32(empty[4:], uint32(len(empty)-8))
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{"empty": {empty, "holds no sound"}, "open": {open0, ""}, "unknown": {openMax, ""}} {
		_, _, err := data.ReadWAV(write(t, c.b, dir, name+".wav"), false)
		testenv.Check(t, (err == nil) == (c.want == "") && (err == nil || strings.Contains(err.Error(), c.want)),
			"%s: %v, want %q", name, err, c.want)
	}
}
