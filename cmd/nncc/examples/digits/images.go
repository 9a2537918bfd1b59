// SPDX-License-Identifier: Apache-2.0

package digits

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strconv"

	"github.com/nncc/nncc/cmd/nncc/examples/digits/draw"
	"github.com/nncc/nncc/frontend/npz"
)

// WritePNGs writes the first n test images as grey PNG files, in a folder for each
// numeral: DIR/3/0013.png is image 13, which shows a 3.
func WritePNGs(dir string, n int) error {
	images, labels := draw.Set(TestSeed, n)
	for i := range images {
		m := &image.Gray{Pix: images[i][:], Stride: draw.Size, Rect: image.Rect(0, 0, draw.Size, draw.Size)}
		var b bytes.Buffer
		if err := png.Encode(&b, m); err != nil {
			return err
		}
		folder := filepath.Join(dir, strconv.Itoa(labels[i]))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%04d.png", i)), b.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// WriteArrays writes the first n test images as a .npz file: [n, 1, 28, 28] under the
// name of the model's input, and labels.
func WriteArrays(path string, n int) error {
	images, classes := draw.Set(TestSeed, n)
	var data []float32
	labels := make([]uint8, n)
	for i := range images {
		data = append(data, images[i].Float32s()...)
		labels[i] = uint8(classes[i])
	}
	x, err := npz.New([]int{n, 1, draw.Size, draw.Size}, data)
	if err != nil {
		return err
	}
	y, err := npz.New([]int{n}, labels)
	if err != nil {
		return err
	}
	return npz.WriteNpzFile(path, []npz.Entry{{Name: InputName, Array: x}, {Name: "labels", Array: y}})
}
