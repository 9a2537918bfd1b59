// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"reflect"
	"regexp"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
)

// windows are layers with windows of several rows. TYPE is a line's sizes or a
// pair of values, [LONG,1] or [1,LONG] by the orientation.
var windows = []string{
	`in %x : i8[2,6,(40,1)] q(0.1:3)
const %w : i8[6,1,(5,1)] q(0.02:0) = rand 1
%o : i8[2,6,(20,1)] q(0.2:-5) = Conv(%x, %w) {group=6, strides=[(2,2)], pads=[(2,0),(2,0)]}`,
	`in %x : i8[1,3,(32,1)] q(0.1:3)
const %w : i8[8,3,(3,1)] q(0.02:0) = rand 1
%o : i8[1,8,(28,1)] q(0.2:-5) = Conv(%x, %w) {dilations=[(2,3)]}`,
	`in %x : i8[1,8,(24,1)] q(0.1:3)
const %w : i8[8,4,(3,1)] q(0.02:0) = rand 1
%o : i8[1,8,(24,1)] q(0.2:-5) = Conv(%x, %w) {group=2, pads=[(1,0),(1,0)]}`,
	`in %x : i8[1,4,(12,1)] q(0.1:3)
const %w : i8[4,6,(3,1)] q(0.02:0) = rand 1
%o : i8[1,6,(24,1)] q(0.2:-5) = ConvTranspose(%x, %w) {strides=[(2,1)], pads=[(1,0),(1,0)], output_padding=[(1,0)]}`,
	`in %x : i8[1,5,(16,1)] q(0.1:3)
%o : i8[1,5,(8,1)] q(0.1:3) = MaxPool(%x) {kernel_shape=[(2,1)], strides=[(2,1)]}`,
	`in %x : i8[1,5,(16,1)] q(0.1:3)
%o : i8[1,5,(8,1)] q(0.1:3) = AveragePool(%x) {kernel_shape=[(2,1)], strides=[(2,1)]}`,
	`in %x : f32[1,5,(16,1)]
const %w : f32[7,5,(4,1)] = rand 1
%o : f32[1,7,(13,1)] = Conv(%x, %w)`,
	`in %x : f32[1,5,(16,1)]
%o : f32[1,5,(15,1)] = MaxPool(%x) {kernel_shape=[(2,1)]}`,
}

// pair is a (LONG,SHORT) of sizes.
var pair = regexp.MustCompile(`([\[,])\((\d+),(\d+)\)`)

// oriented is the text with every (LONG,SHORT) as height and width, or the other way round.
func oriented(src string, row bool) string {
	return pair.ReplaceAllString(src, map[bool]string{false: "$1$2,$3", true: "$1$3,$2"}[row])
}

// TestColumns: a map of a single column is a row in memory, and gets the calls of
// a row: whichever spatial axis a network on signals uses costs nothing.
func TestColumns(t *testing.T) {
	for _, board := range []string{"host", "cortex-m55", "cortex-m4", "cortex-m0plus"} {
		spec := testenv.Must(boards.Load(board))(t)
		opt := kernel.Options{Core: coreOf(spec)}
		table := testenv.Must(lower.Kernels(spec.Kernels, opt))(t)
		for _, src := range windows {
			calls := func(row bool) (*ir.Node, []call.Call) {
				text := fmt.Sprintf("graph \"g\" {\n%s\nout \"y\" = %%o\n}\n",
					oriented(src, row))
				n := irtest.Parse(t, text).Nodes[0]
				c := testenv.Must(table.Match(n, &opt))(t)
				for _, v := range []*ir.Value{n.In[0], n.Out[0]} {
					v.Type.Order = ir.NHWC(4)
				}
				return n, c.Lower().Calls
			}
			n, column := calls(false)
			if _, row := calls(true); !reflect.DeepEqual(column, row) {
				t.Errorf("%s: the calls for %s differ from those for the same line as a row", board, n)
			}
		}
	}
}
