// SPDX-License-Identifier: Apache-2.0

// Command train makes the model of the digits example: it draws the images,
// trains the network and writes digits.onnx, its calibration data and the golden
// cases. Run without flags it gives the model that is in the repository, byte for
// byte (on amd64); golden outputs may differ in the last bits with the version
// of the reference interpreter.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/cmd/nncc/examples/digits"
	"github.com/nncc/nncc/cmd/nncc/examples/digits/draw"
	"github.com/nncc/nncc/cmd/nncc/examples/digits/train/cnn"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
)

// netSeed is that of the initial weights and of the order of the images.
const netSeed = 1

func main() {
	o := cnn.Options{Seed: netSeed, Epochs: 12, Batch: 50, Rate: 0.1, Decay: 5e-4} // of the shipped model
	out := pflag.String("out", ".", "folder for the model and its data")
	images := pflag.Int("images", digits.TrainImages, "images to train on")
	pflag.IntVar(&o.Epochs, "epochs", o.Epochs, "how often each image is seen")
	pflag.Usage = func() {
		fmt.Fprintf(os.Stderr, "Example: go run . --out ..\n\nFlags:\n%s", pflag.CommandLine.FlagUsages())
	}
	pflag.Parse()
	if pflag.NArg() > 0 || o.Epochs < 1 || *images < o.Batch || *images > 1e6 {
		pflag.Usage()
		os.Exit(2)
	}
	if err := run(o, *images, *out); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func run(o cnn.Options, images int, out string) error {
	train, labels := draw.Set(digits.TrainSeed, images)
	test, truth := draw.Set(digits.TestSeed, digits.TestImages)
	net := cnn.New(netSeed)
	fmt.Printf("%d training images, %d test images, %d weights\n", images, len(test), net.Weights())
	o.Epoch = func(epoch int, loss, right float64) {
		fmt.Printf("epoch %2d  loss %.4f  training accuracy %.2f %%\n", epoch, loss, 100*right)
	}
	net.Train(train, labels, o)
	fmt.Printf("test accuracy %.2f %%\n", 100*float64(digits.Same(net.Classify(test), truth))/float64(len(test)))
	return write(net, test, out)
}

// write puts the model, the calibration data and the golden cases in place.
// Golden outputs are the float reference interpreter's, of the file as written.
func write(net *cnn.Net, test []draw.Image, out string) error {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(net.Export())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	model := filepath.Join(out, digits.ModelFile)
	if err := os.WriteFile(model, b, 0o666); err != nil {
		return err
	}
	calib, err := digits.Calibration()
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(out, digits.CalibFile))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := npz.WriteNpzDeflated(f, calib); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	g, err := digits.Load(model)
	if err != nil {
		return err
	}
	for i := range digits.GoldenCases {
		in := digits.Input(&test[i])
		y, err := interp.Run(g, []*tensor.Dense{in}, nil)
		if err != nil {
			return err
		}
		dir := filepath.Join(out, digits.GoldenDir, fmt.Sprintf(digits.GoldenCase, i))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		for name, d := range map[string]*tensor.Dense{"input_0.npy": in, "output_0.npy": y[0]} {
			a, err := npz.New(d.Shape, tensor.As[float32](d))
			if err != nil {
				return err
			}
			if err := npz.WriteNpyFile(filepath.Join(dir, name), a); err != nil {
				return err
			}
		}
	}
	return nil
}
