package qref

import "math"

// normFactor is nncc_norm_factor. Conversions keep a compiler from fusing.
func normFactor(n, sum int32, square int64, inScale, epsilon float64) float64 {
	count := float64(n)
	v := float64(int64(n)*square - int64(sum)*int64(sum))
	v = v / float64(count*count)
	v = float64(v * inScale)
	v = float64(v * inScale)
	return inScale / float64(sqrtF64(v+epsilon)*count)
}

// sqrtF64 is nncc_sqrt_f64: the correctly rounded root, 0 for subnormal numbers.
func sqrtF64(v float64) float64 {
	const smallest = 0x1p-1022
	if v < smallest {
		return 0
	}
	return math.Sqrt(v)
}

// LayerNormParams is nncc_layer_norm_s8_params.
type LayerNormParams struct {
	InScale, OutScale, Epsilon float64
	Rows, Len                  int32
	InZero, OutZero            int32
	ActMin, ActMax             int32
}

// LayerNorm is nncc_layer_norm_s8: exact sums, then float64 in the order that
// the C header states. scale has Len elements; bias too, or is nil.
func LayerNorm(p *LayerNormParams, x []int8, scale, bias []float64, y []int8) error {
	const name = "LayerNorm"
	n := int(p.Rows) * int(p.Len)
	if p.Len < 1 || p.Len > 1<<22 {
		return badArgs(name, "rows of %d elements, want 1 to 2^22", p.Len)
	}
	if err := firstErr(checkClamp(name, p.ActMin, p.ActMax), checkLen(name, "input", len(x), n),
		checkLen(name, "output", len(y), n),
		checkLen(name, "scale", len(scale), int(p.Len)), checkOptional(name, "bias", len(bias),
			int(p.Len))); err != nil {
		return err
	}
	for r := range int(p.Rows) {
		row, dst := x[r*int(p.Len):][:p.Len], y[r*int(p.Len):]
		var sum int32
		var square int64
		for _, v := range row {
			d := int32(v) - p.InZero
			sum, square = sum+d, square+int64(d*d)
		}
		k := normFactor(p.Len, sum, square, p.InScale, p.Epsilon)
		for i, v := range row {
			t := float64(float64(p.Len*(int32(v)-p.InZero)-sum) * k)
			t = float64(t * scale[i])
			if len(bias) > 0 {
				t += bias[i]
			}
			dst[i] = int8(roundAway(t/p.OutScale, p.OutZero, p.ActMin, p.ActMax))
		}
	}
	return nil
}

// GroupNormParams is nncc_group_norm_s8_params; Groups equal to Channels is
// instance normalisation.
type GroupNormParams struct {
	InScale, OutScale, Epsilon       float64
	Batch, Spatial, Channels, Groups int32
	InZero, OutZero                  int32
	ActMin, ActMax                   int32
}

// GroupNorm is nncc_group_norm_s8 on data [Batch,Spatial,Channels].
func GroupNorm(p *GroupNormParams, x []int8, scale, bias []float64, y []int8) error {
	const name = "GroupNorm"
	n := int(p.Batch) * int(p.Spatial) * int(p.Channels)
	if p.Groups < 1 || p.Channels%p.Groups != 0 {
		return badArgs(name, "%d groups do not divide %d channels", p.Groups, p.Channels)
	}
	if err := firstErr(checkClamp(name, p.ActMin, p.ActMax), checkLen(name, "input", len(x), n),
		checkLen(name, "output", len(y), n),
		checkLen(name, "scale", len(scale), int(p.Channels)), checkLen(name, "bias", len(bias),
			int(p.Channels))); err != nil {
		return err
	}
	width := int(p.Channels / p.Groups)
	count := p.Spatial * int32(width)
	for b := range int(p.Batch) {
		img := b * int(p.Spatial) * int(p.Channels)
		for first := 0; first < int(p.Channels); first += width {
			var sum int32
			var square int64
			for s := range int(p.Spatial) {
				for _, v := range x[img+s*int(p.Channels)+first:][:width] {
					d := int32(v) - p.InZero
					sum, square = sum+d, square+int64(d*d)
				}
			}
			k := normFactor(count, sum, square, p.InScale, p.Epsilon)
			for s := range int(p.Spatial) {
				at := img + s*int(p.Channels) + first
				for c, v := range x[at:][:width] {
					t := float64(float64(count*(int32(v)-p.InZero)-sum) * k)
					t = float64(t * scale[first+c])
					t += bias[first+c]
					y[at+c] = int8(roundAway(t/p.OutScale, p.OutZero, p.ActMin, p.ActMax))
				}
			}
		}
	}
	return nil
}
