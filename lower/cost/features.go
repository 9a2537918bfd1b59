// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"
	"strings"
)

// counts say how often things happen in a call. Kernels take pixels by fours
// (Helium) or twos, outputs by fours or twos, and columns of a sum by 16 and by
// four: "quads" and "pairs" are whole ones, what is beyond them is counted
// apart, and "Up" counts the last block, part full, too.
type counts struct {
	pixels, rows       int // of the output, all images
	outputs, channels  int
	columns, taps      int // products of an output; positions of the window
	inside             int // pairs of an output pixel and a tap that lie in the image
	edge, inner        int // pixels whose window leaves the row, and the others in blocks of four
	innerRest          int
	rowPairs, squares  int // rows of the output by twos, 2x2 pixels of it; the last ones part full, too
	tiles              int // of two rows and four columns of the output, the last ones part full
	words, rounds      int // pairs of rows under two rows of outputs; twos of them in all columns of a window
	rowQuads           int // output pixels by fours of a row, a rest of it one more
	times, several     int // outputs of a channel; 1 where there are several, or less than four channels
	wide               int // columns of the input
	border             int // pixels whose window leaves the image
	paired, single     int // pixels two at a time, and one by one (see count)
	windowRows, across int // rows of a window; vectors of the taps of such a row
	band               int // input columns under the windows of all rows
	groups, phases     int // phases are of strides
	most               int // taps of a phase
	rowsInside         int // rows of windows that lie in the image
	image              int // pixels of the input
	copies, pieces     int // of inputs of a dilated window: calls, and pieces of memory
	shorter, longer    int // of rows and columns that are exchanged
	thin               int // 1 where the shorter has no block of four
	macs               int
	parts              *Parts
}

func count(g *Geometry) *counts {
	c := &counts{pixels: g.N * g.OH * g.OW, rows: g.N * g.OH, outputs: g.OC, channels: g.C, taps: g.KH * g.KW,
		windowRows: g.KH, wide: g.IW, band: g.N * g.OH * g.KH * ((g.OW-1)*g.SW + g.KW), parts: &g.Parts}
	depth := g.C
	if g.Groups > 0 && g.Kind != Matrix { // right sides are no groups of columns
		depth = g.C / g.Groups
	}
	c.columns, c.across = c.taps*depth, (g.KW*depth+15)/16
	c.rowQuads = c.rows * ((g.OW + 3) / 4)
	c.shorter, c.longer = min(g.OW, g.C), max(g.OW, g.C)
	c.thin = max(0, min(1, 4-c.shorter))
	c.tiles = g.N * ((g.OH + 1) / 2) * ((g.OW + 3) / 4)
	c.sweeps(g)
	if c.times = g.OC / max(g.C, 1); c.times > 1 || g.C < 4 {
		c.several = 1
	}
	left, right := 0, 0
	for o := range g.OW {
		if at := o*g.SW - g.PW; at < 0 {
			left++
		} else if at+(g.KW-1)*g.DW >= g.IW {
			right++
		}
	}
	wholeRows := 0
	for o := range g.OH {
		if at := o*g.SH - g.PH; at >= 0 && at+(g.KH-1)*g.DH < g.IH {
			wholeRows++
		}
	}
	c.border = c.pixels - g.N*wholeRows*(g.OW-left-right)
	c.edge, c.inner, c.innerRest = c.rows*(left+right), c.rows*((g.OW-left-right)/4), c.rows*((g.OW-left-right)%4)
	// Pixels are taken one by one where the vectors of the last ones would leave
	// the input, or with few outputs.
	if g.OC < 4 {
		c.single = c.pixels
	} else if c.taps == 1 && c.columns > 0 {
		c.single = min(c.pixels, (16*((c.columns+15)/16)-1)/c.columns)
	}
	c.paired = (c.pixels - c.single) / 2
	c.single = c.pixels - 2*c.paired
	c.rowsInside = g.N * reach(g.OH, g.KH, g.SH, g.DH, g.PH, g.IH)
	c.inside = c.rowsInside * reach(g.OW, g.KW, g.SW, g.DW, g.PW, g.IW)
	c.rowsInside *= g.OW
	if c.macs = g.MACs; c.macs == 0 {
		c.macs = c.pixels * c.outputs * c.columns
	}
	c.patches(g)
	return c
}

// patches counts what is copied, tap by tap, to have the inputs of a dilated
// product in a row: one pixel at the side of the map by itself, all between at once.
func (c *counts) patches(g *Geometry) {
	c.groups, c.phases, c.image = max(1, g.Groups), max(1, min(g.SH, g.KH)*min(g.SW, g.KW)), g.N*g.IH*g.IW
	c.most = (g.KH + g.SH - 1) / max(1, g.SH) * (g.KW + g.SW - 1) / max(1, g.SW)
	if g.DW > 1 {
		c.copies, c.pieces = (c.edge+c.rows)*g.KW*c.groups, c.inside*c.groups
	}
}

// sweeps counts what kernels do that compute two rows of outputs at a time. Rows,
// and columns, whose windows lie on the same taps go together.
func (c *counts) sweeps(g *Geometry) {
	down, across := apart(g.DH, g.SH), apart(g.DW, g.SW)
	for k := range down {
		c.rowPairs += g.N * max(0, (g.OH-k+2*down-1)/(2*down))
	}
	for k := range across {
		c.squares += c.rowPairs * max(0, (g.OW-k+2*across-1)/(2*across))
	}
	c.words = (g.KH + g.SH*down/max(g.DH, 1) + 1) / 2
	c.rounds = (c.words*g.KW + 1) / 2
}

// longerVectors are those of the longer of rows and columns, in steps of the shorter: 16 offsets of up to 17 fit bytes,
// larger ones go by eight.
func (c *counts) longerVectors() int {
	lanes := 16
	if c.shorter > 17 {
		lanes = 8
	}
	return (c.longer + lanes - 1) / lanes
}

// alignedWords are words of channels where every pixel begins at a word, else 0.
func (c *counts) alignedWords() int {
	if c.channels%4 != 0 {
		return 0
	}
	return c.channels / 4
}

// unalignedChannels are the channels where some pixels begin between words, else 0.
func (c *counts) unalignedChannels() int {
	if c.channels%4 == 0 {
		return 0
	}
	return c.channels
}

// small is 1 where a window is at most two by two.
func (c *counts) small() int {
	if c.windowRows <= 2 && c.taps <= 2*c.windowRows {
		return 1
	}
	return 0
}

// apart is how many outputs further the next window on the same taps is.
func apart(dilation, stride int) int {
	if dilation < 2 || stride < 1 {
		return 1
	}
	a, b := dilation, stride
	for b != 0 {
		a, b = b, a%b
	}
	return dilation / a
}

// reach counts the pairs of an output position and a tap inside the input.
func reach(out, k, stride, dil, pad, in int) int {
	n := 0
	for o := range out {
		for t := range k {
			if x := o*stride - pad + t*dil; x >= 0 && x < in {
				n++
			}
		}
	}
	return n
}

// factors are what features are products of.
var factors = map[string]func(c *counts) int{
	"call":                     func(*counts) int { return 1 },
	"MACs":                     func(c *counts) int { return c.macs },
	"values":                   func(c *counts) int { return c.pixels * c.outputs },
	"rows":                     func(c *counts) int { return c.rows },
	"pixels":                   func(c *counts) int { return c.pixels },
	"pixelQuads":               func(c *counts) int { return c.pixels / 4 },
	"pixelsBeyondQuads":        func(c *counts) int { return c.pixels % 4 },
	"pixelPairs":               func(c *counts) int { return c.pixels / 2 },
	"oddPixels":                func(c *counts) int { return c.pixels % 2 },
	"pairedPixels":             func(c *counts) int { return c.paired },
	"singlePixels":             func(c *counts) int { return c.single },
	"edgePixels":               func(c *counts) int { return c.edge },
	"innerQuads":               func(c *counts) int { return c.inner },
	"innerBeyondQuads":         func(c *counts) int { return c.innerRest },
	"rowPairsUp":               func(c *counts) int { return c.rowPairs },
	"squaresUp":                func(c *counts) int { return c.squares },
	"tilesUp":                  func(c *counts) int { return c.tiles },
	"windowWords":              func(c *counts) int { return c.words },
	"windowRounds":             func(c *counts) int { return c.rounds },
	"inputColumns":             func(c *counts) int { return c.wide },
	"fewOutputs":               func(c *counts) int { return max(0, min(1, 4-c.outputs)) },
	"blocks":                   func(c *counts) int { return (c.channels + 3) / 4 * c.times },
	"blockOutputs":             func(c *counts) int { return (c.channels + 3) / 4 * min(c.channels, 4) * c.times },
	"multiplied":               func(c *counts) int { return c.several },
	"pixelQuadsUp":             func(c *counts) int { return (c.pixels + 3) / 4 },
	"pixelOctetsUp":            func(c *counts) int { return (c.pixels + 7) / 8 },
	"pixelSixteensUp":          func(c *counts) int { return (c.pixels + 15) / 16 },
	"outputPairsUp":            func(c *counts) int { return (c.outputs + 1) / 2 },
	"rowQuadsUp":               func(c *counts) int { return c.rowQuads },
	"outputs":                  func(c *counts) int { return c.outputs },
	"outputQuads":              func(c *counts) int { return c.outputs / 4 },
	"outputQuadsUp":            func(c *counts) int { return (c.outputs + 3) / 4 },
	"outputOctetsUp":           func(c *counts) int { return (c.outputs + 7) / 8 },
	"outputsBeyondQuads":       func(c *counts) int { return c.outputs % 4 },
	"outputPairs":              func(c *counts) int { return c.outputs / 2 },
	"oddOutputs":               func(c *counts) int { return c.outputs % 2 },
	"columns":                  func(c *counts) int { return c.columns },
	"columnVectors":            func(c *counts) int { return (c.columns + 15) / 16 },
	"columnOctets":             func(c *counts) int { return (c.columns + 7) / 8 },
	"columnWords":              func(c *counts) int { return c.columns / 4 },
	"columnsBeyondWords":       func(c *counts) int { return c.columns % 4 },
	"columnWordsBeyondVectors": func(c *counts) int { return c.columns % 16 / 4 },
	"channels":                 func(c *counts) int { return c.channels },
	"shorter":                  func(c *counts) int { return c.shorter },
	"longerVectors":            (*counts).longerVectors,
	"longerQuads":              func(c *counts) int { return c.longer / 4 },
	"longerBeyondQuads":        func(c *counts) int { return c.longer % 4 },
	"thin":                     func(c *counts) int { return c.thin },
	"thick":                    func(c *counts) int { return 1 - c.thin },
	"channelVectors":           func(c *counts) int { return (c.channels + 15) / 16 },
	"channelOctets":            func(c *counts) int { return (c.channels + 7) / 8 },
	"channelWords":             func(c *counts) int { return c.channels / 4 },
	"channelWordsUp":           func(c *counts) int { return (c.channels + 3) / 4 },
	"alignedWords":             (*counts).alignedWords,
	"unalignedChannels":        (*counts).unalignedChannels,
	"channelsBeyondWords":      func(c *counts) int { return c.channels % 4 },
	"taps":                     func(c *counts) int { return c.taps },
	"tapVectors":               func(c *counts) int { return (c.taps + 15) / 16 },
	"tapPairs":                 func(c *counts) int { return c.taps / 2 },
	"oddTaps":                  func(c *counts) int { return c.taps % 2 },
	"borderPixels":             func(c *counts) int { return c.border },
	"tapsInside":               func(c *counts) int { return c.inside },
	"tapsOutside":              func(c *counts) int { return c.pixels*c.taps - c.inside },
	"rowsInside":               func(c *counts) int { return c.rowsInside },
	"windowRows":               func(c *counts) int { return c.windowRows },
	"windowRowVectors":         func(c *counts) int { return c.windowRows * c.across },
	"windowColumns":            func(c *counts) int { return c.band },
	"mostTaps":                 func(c *counts) int { return c.most },
	"laterPixels":              func(c *counts) int { return max(0, c.pixels-1) },
	"phases":                   func(c *counts) int { return c.phases },
	"image":                    func(c *counts) int { return c.image },
	"groups":                   func(c *counts) int { return c.groups },
	"pieces":                   func(c *counts) int { return c.pieces },
	"copies":                   func(c *counts) int { return c.copies },
	"small":                    (*counts).small,
	"large":                    func(c *counts) int { return 1 - c.small() },
	"reads":                    func(c *counts) int { return c.parts.Reads },
	"tables":                   func(c *counts) int { return c.parts.Tables },
	"extremes":                 func(c *counts) int { return c.parts.Extremes },
	"divisions":                func(c *counts) int { return c.parts.Divisions },
	"sums":                     func(c *counts) int { return c.parts.Sums },
	"products":                 func(c *counts) int { return c.parts.Products },
	"wideSums":                 func(c *counts) int { return c.parts.WideSums },
	"equalSums":                func(c *counts) int { return c.parts.EqualSums },
	"wideProducts":             func(c *counts) int { return c.parts.WideProducts },
	"quantised":                func(c *counts) int { return c.parts.Quantised },
	"plain":                    func(c *counts) int { return c.parts.Plain },
}

// features are what models of a kind may consist of; the fit leaves most of
// them out.
var features = map[Kind][]string{
	Convolution: words(`
		call rows pixels outputs outputQuadsUp channels columnVectors*outputs columnWords*outputs
		columnsBeyondWords*outputs pixels*taps tapsInside tapsInside*channels tapsInside*channelVectors
		tapsInside*channelWords tapsInside*channelsBeyondWords tapsOutside*channels tapsOutside*channelWords
		tapsOutside*channelsBeyondWords pixels*channels pixels*channelVectors pixels*channelWords
		pixels*channelsBeyondWords pixels*outputs pixels*outputQuadsUp tapsInside*outputQuadsUp
		tapsInside*outputQuadsUp*channels pixels*outputs*columns pixelQuads pixelQuads*outputs
		pixelQuads*outputs*columnVectors pixelsBeyondQuads*outputs pixelsBeyondQuads*outputs*columnVectors
		pixels*outputQuadsUp*columnVectors pixels*outputQuads*columnVectors pixels*outputsBeyondQuads*columnVectors
		pixels*outputQuads pixels*outputsBeyondQuads pixelPairs*outputPairs
		pixelPairs*outputPairs*columnWordsBeyondVectors pixelPairs*outputPairs*columnWords
		pixelPairs*outputPairs*columnsBeyondWords pixelPairs*oddOutputs pixelPairs*oddOutputs*columnWords
		pixelPairs*oddOutputs*columnsBeyondWords oddPixels*outputs oddPixels*outputs*columnWords
		oddPixels*outputs*columnsBeyondWords edgePixels edgePixels*columnVectors edgePixels*outputs
		edgePixels*outputs*columnVectors innerQuads*outputs innerQuads*outputs*columnVectors
		innerBeyondQuads*outputs innerBeyondQuads*outputs*columnVectors pixels*outputPairs
		pixels*outputPairs*columnWords pixels*outputPairs*columnsBeyondWords pixels*oddOutputs*columnWords
		pixels*oddOutputs*columnsBeyondWords pairedPixels*outputQuadsUp pairedPixels*outputQuadsUp*columnVectors
		pairedPixels*outputQuadsUp*columnWords pairedPixels*outputQuadsUp*columnsBeyondWords
		pairedPixels*columnWords pairedPixels*columnsBeyondWords singlePixels*outputQuadsUp
		singlePixels*outputQuadsUp*columnVectors borderPixels borderPixels*columns pixels*windowRows
		pixels*windowRowVectors tilesUp tilesUp*channelWords tilesUp*outputs tilesUp*outputQuadsUp
		tilesUp*outputQuadsUp*channelWords`),
	Depthwise: words(`
		call rows pixels channels channelWordsUp channelVectors channelOctets pixels*taps tapsInside
		tapsInside*channels tapsInside*channelVectors tapsInside*channelWordsUp tapsInside*channelWords
		tapsInside*channelsBeyondWords tapsOutside*channels tapsOutside*channelWords tapsOutside*channelsBeyondWords
		pixels*channels pixels*channelVectors pixels*channelWordsUp pixels*channelWords pixels*channelsBeyondWords
		pixels*channelOctets pixels*taps*channelOctets pixels*taps*channelWordsUp pixelQuads*channelWordsUp
		pixelQuads*channelWordsUp*taps pixelsBeyondQuads*channelWordsUp pixelsBeyondQuads*channelWordsUp*taps
		pixels*tapPairs*channelWordsUp pixels*oddTaps*channelWordsUp borderPixels borderPixels*taps
		borderPixels*channelWordsUp borderPixels*channels borderPixels*taps*channelWordsUp pixels*outputsBeyondQuads
		pixels*oddOutputs oddPixels*channels rows*channelWordsUp rows*channelOctets rows*channelVectors
		windowColumns*channelOctets windowColumns*channelVectors edgePixels edgePixels*channelWordsUp
		edgePixels*channels innerQuads*channels innerBeyondQuads*channels pixels*windowRows
		pixels*windowRows*channelWordsUp rows*outputs rowQuadsUp*outputs rowQuadsUp*outputs*tapVectors
		pixels*outputs pixels*outputs*taps tapsInside*channelOctets windowColumns*channels
		pixels*outputQuadsUp pixels*outputQuadsUp*taps borderPixels*outputQuadsUp borderPixels*outputQuadsUp*taps
		borderPixels*taps*channels rowPairsUp*outputs rowPairsUp*channels squaresUp*blockOutputs
		squaresUp*blockOutputs*windowRounds rowPairsUp*channels*windowWords pixels*blocks pixels*blocks*taps
		pixels*blocks*tapPairs pixels*blocks*oddTaps pixels*blocks*multiplied borderPixels*blocks
		rowPairsUp*blockOutputs
		rowPairsUp*channels*windowWords*inputColumns rowPairsUp*channelWordsUp*windowWords*inputColumns`),
	Transposed: words(`
		call phases rows rows*phases image image*outputs image*outputQuadsUp image*channels pixels pixels*outputs
		pixels*taps pixels*phases pixels*phases*outputQuadsUp pixels*columnVectors pixels*columnWords
		pixels*outputs*columnVectors pixels*outputQuadsUp*columnVectors pixels*outputs*columns tapsInside
		tapsInside*outputQuadsUp tapsInside*outputs*channels tapsInside*outputQuadsUp*channels
		tapsInside*outputs*channelVectors image*mostTaps image*mostTaps*channels image*mostTaps*channelWords
		image*mostTaps*outputs*channels image*mostTaps*outputs*channelVectors image*mostTaps*outputQuadsUp*channels
		image*mostTaps*outputQuadsUp*channelVectors image*mostTaps*outputQuadsUp image*mostTaps*outputs
		image*mostTaps*outputPairsUp*channelWords image*outputQuadsUp*channelVectors borderPixels*taps*outputs`),
	Matrix: words(`
		call pixels outputs columns columnWords columnVectors outputQuadsUp outputs*columnWords
		outputQuadsUp*columns outputQuadsUp*columnWords pixels*columns pixels*columnWords pixels*columnVectors
		pixels*columnsBeyondWords pixels*outputs pixels*outputQuadsUp pixels*outputsBeyondQuads pixels*outputPairs
		pixels*oddOutputs pixels*outputs*columnVectors pixels*outputs*columnWords pixels*outputs*columnsBeyondWords
		pixels*outputQuads*columnVectors pixels*outputQuadsUp*columnVectors pixels*outputsBeyondQuads*columnVectors
		pixels*outputPairs*columnWords pixels*outputPairs*columnsBeyondWords pixels*oddOutputs*columnWords
		pixels*oddOutputs*columnsBeyondWords pixels*outputQuadsUp*columns pixels*outputQuadsUp*columnWords
		pixels*outputQuadsUp*columnsBeyondWords pixels*outputs*columns`),
	Pool: words(`
		call rows pixels channels channelWordsUp tapsInside pixels*taps pixels*windowRows tapsInside*channels
		tapsInside*channelVectors tapsInside*channelOctets tapsInside*channelWords tapsInside*channelsBeyondWords
		tapsInside*channelWordsUp tapsOutside*channels borderPixels borderPixels*channelWordsUp
		borderPixels*channelVectors pixels*channels pixels*channelVectors pixels*channelOctets pixels*channelWords
		pixels*channelsBeyondWords pixels*channelWordsUp pixels*windowRows*channels pixels*windowRows*channelVectors
		rows*channelWordsUp windowColumns*channelOctets windowColumns*channels pixels*alignedWords
		pixels*unalignedChannels tapsInside*alignedWords tapsInside*unalignedChannels rows*alignedWords
		rows*unalignedChannels`),
	Element: words(`
		call values channelVectors channelWords channelWordsUp channelsBeyondWords values*reads values*tables
		values*extremes values*divisions values*sums values*products values*wideSums values*wideProducts
		values*quantised values*plain`),
	Copy: words(`
		call pixels channels values pixels*channels pixels*channelWords pixels*channelsBeyondWords
		pixels*channelVectors pixels*outputQuadsUp pixels*outputsBeyondQuads`),
	Other: words(`call values MACs pixels pixels*channels pixels*channelWords pixels*channelVectors
		pixels*channelsBeyondWords pixels*outputQuadsUp pixels*outputQuadsUp*channels
		pixels*outputQuadsUp*channelWords pixels*outputQuadsUp*channelVectors pixels*outputQuadsUp*outputs`),
}

// moreFeatures are those of variants besides that have one of some parts in their names.
var moreFeatures = []struct {
	parts    string
	kind     Kind
	features string
}{
	// on int16, by eight columns and four pixels
	{"_s16", Convolution, `tapsInside*channelOctets pixelQuads*outputs*columnOctets
		pixelsBeyondQuads*outputs*columnOctets pixelQuads*outputs*columns pixelsBeyondQuads*outputs*columns
		pixelQuads*columns pixelQuadsUp pixelQuadsUp*outputs pixelQuadsUp*outputPairsUp*columns
		pixelQuadsUp*columns pixelQuadsUp*taps pixels*outputQuadsUp*columnOctets rowQuadsUp*outputs*columnOctets
		rowQuadsUp*outputs pixelPairs*outputQuadsUp pixelPairs*outputQuadsUp*columnOctets oddPixels*outputQuadsUp
		oddPixels*outputQuadsUp*columnOctets pixels*fewOutputs pixels*fewOutputs*columnOctets
		pixels*windowRows*channelOctets pixels*windowRows*outputQuadsUp`},
	{"_s16", Matrix, `pixels*outputQuadsUp*columnOctets pixelQuads*outputs*columnOctets
		pixelsBeyondQuads*outputs*columnOctets`},
	// eight outputs at a time
	{"_octets", Matrix, `outputOctetsUp outputOctetsUp*columnOctets outputOctetsUp*columnVectors`},
	// windows of up to two by two elements as four each, whole rows of them at a time, and a walk through larger ones
	{"avg_pool_short helium_max_pool", Pool, `small*rows small*rows*channels small*rows*channelVectors small*pixels
		small*pixels*channelVectors small*pixels*channelOctets small*pixels*channelWords
		small*pixels*channelsBeyondWords small*borderPixels large*rows large*pixels large*pixels*channelVectors
		large*pixels*channelWords large*pixels*channelsBeyondWords large*pixels*windowRows
		large*pixels*windowRows*channelVectors large*tapsInside large*tapsInside*channelVectors
		large*tapsInside*channelWords large*tapsInside*channelsBeyondWords large*windowColumns*channels
		large*rows*channelWordsUp`},
	// patches of the input that are copied, group by group
	{"helium_convolve", Convolution, `groups rows*groups pixels*groups pixelQuadsUp*groups copies pieces`},
	// rows and columns (channels) of matrices that are exchanged, and counted as rows of pixels: in blocks of four by
	// four with strides for the rest, or along the longer ones
	{"_transpose_s8", Copy, `rows rows*shorter rows*shorter*longerQuads rows*shorter*longerBeyondQuads
		rows*shorter*longerVectors thin*rows*shorter thin*rows*shorter*longerQuads thin*rows*shorter*longerBeyondQuads
		thick*innerQuads thick*innerQuads*channelWords thick*innerQuads*channelsBeyondWords
		thick*rows*channelsBeyondWords thick*innerBeyondQuads thick*innerBeyondQuads*channelWords
		thick*innerBeyondQuads*channelsBeyondWords`},
	// simpler where both operands have one scale
	{"pair_sum_s16", Element, `values*equalSums channelVectors*equalSums`},
	// windows that are read four channels or eight at a time, row by row
	{"avg_pool_s16", Pool, `rowsInside rowsInside*channels rowsInside*channelWordsUp rowsInside*channelOctets`},
	// right sides that are packed
	{"batch_matmul", Matrix, `groups groups*outputs groups*columns groups*outputs*columns groups*outputs*columnWords
		groups*outputs*columnVectors groups*outputQuadsUp*columns`},
	// rows that are made up of parts
	{"concatenation copy_rows", Copy, `groups pixels*groups`},
	// recurrent layers, whose first step has no state yet
	{"_lstm_ _gru_", Other, `laterPixels*outputs laterPixels*outputs*outputs laterPixels*outputQuadsUp*outputs
		laterPixels*outputQuadsUp*outputQuadsUp`},
	// rows that are lanes of a vector
	{"softmax_8rows softmax_16rows", Other, `pixelOctetsUp pixelOctetsUp*channels pixelSixteensUp
		pixelSixteensUp*channels`},
}

// pooled are the features of models over all variants of a kind.
var pooled = words(`call values MACs`)

func words(s string) []string { return strings.Fields(s) }

// feature evaluates a product of factors.
func feature(name string) (func(c *counts) float64, error) {
	var list []func(c *counts) int
	for _, f := range strings.Split(name, "*") {
		if factors[f] == nil {
			return nil, fmt.Errorf("unknown factor %q in feature %q", f, name)
		}
		list = append(list, factors[f])
	}
	return func(c *counts) float64 {
		v := 1.0
		for _, f := range list {
			v *= float64(f(c))
		}
		return v
	}, nil
}

// values are some features of a geometry.
func values(g *Geometry, names []string) []float64 {
	c := count(g)
	out := make([]float64, len(names))
	for i, n := range names {
		f, err := feature(n)
		if err != nil {
			continue // the tests ask for each
		}
		out[i] = f(c)
	}
	return out
}
