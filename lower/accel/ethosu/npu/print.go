// SPDX-License-Identifier: Apache-2.0

package npu

import (
	"fmt"
	"strings"
)

func (f *FeatureMap) String() string {
	sign, order := "u", "NHWC"
	if f.Signed {
		sign = "i"
	}
	if f.Brick {
		order = "NHCWB16"
	}
	s := fmt.Sprintf("%s%d[%d×%d×%d] %s at %s+%d", sign, f.Bits, f.H, f.W, f.C, order, regionName(f.Region), f.Base[0])
	if f.H > f.H0 || f.W > f.W0 {
		s += fmt.Sprintf(" in tiles of %d and %d rows, %d columns, at +%d +%d +%d", f.H0, f.H1, f.W0, f.Base[1],
			f.Base[2], f.Base[3])
	}
	if f.Zero != 0 {
		s += fmt.Sprintf(" zero %d", f.Zero)
	}
	return s
}

// list joins what is not empty.
func list(parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, ", ")
}

func when(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// Describe is an operation for people: a line, and one for each thing that it depends on.
func (o *Op) Describe() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("%4d  word %-6d %s", o.Index, o.At, o.Name())
	if o.Kind == Transfer {
		line("      from %s to %s", o.From, o.To)
		return b.String()
	}
	line("      in    %s", &o.IFM)
	switch {
	case o.TwoMaps():
		line("      in 2  %s", &o.IFM2)
	case o.Scalar:
		line("      in 2  number %d zero %d", o.ScalarValue, o.IFM2.Zero)
	}
	line("      out   %s", &o.OFM)
	if k := &o.Window; o.Kind != Elementwise && o.Kind != Sum {
		line("      kernel %s", list(fmt.Sprintf("%d×%d", k.H, k.W),
			when(k.StrideY*k.StrideX > 1, "stride %d×%d", k.StrideY, k.StrideX),
			when(k.DilateY*k.DilateX > 1, "dilation %d×%d", k.DilateY, k.DilateX),
			when(k.Top+k.Left+k.Bottom+k.Right > 0, "padding %d,%d,%d,%d", k.Top, k.Left, k.Bottom, k.Right),
			when(k.Upscale == Nearest, "upscaled, nearest"), when(k.Upscale == ZeroAfter, "upscaled, zeros"),
			when(k.PartFirst, "part of the kernel first")))
	}
	for i := range o.Cores {
		if o.weighted() {
			line("      weights %s, scales %s", o.Weights[i], o.Scales[i])
		}
	}
	mode := []string{"twice", "towards zero", "half up"}[o.Rounding]
	line("      %s", list(fmt.Sprintf("block %d×%d×%d", o.Block.H, o.Block.W, o.Block.C),
		fmt.Sprintf("banks %d to %d and from %d", outBanks, o.IBEnd, o.ABStart),
		fmt.Sprintf("BLOCKDEP %d", o.Depend), fmt.Sprintf("%d to %d", o.Low, o.High),
		when(o.Function == tanh, "tanh"), when(o.Function == sigmoid, "sigmoid"),
		when(o.Function == table, "table %d", o.Table), when(!o.PerChannel, "times %d>>%d", o.Scale, o.Shift),
		when(o.A != 0 && o.Kind == Elementwise, "operands times %d>>%d, %d, mode %d", o.A, o.AShift, o.B, o.ScaleMode),
		when(o.Reversed, "operands swapped"), "rounded "+mode))
	return b.String()
}
