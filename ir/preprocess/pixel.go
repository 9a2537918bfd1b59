// SPDX-License-Identifier: Apache-2.0

package preprocess

import (
	"fmt"
	"strings"
)

// Format is how the pixels of a frame lie in memory, row after row without gaps.
type Format int

// The formats that cameras give.
const (
	RGB888   Format = iota // three bytes: red, green, blue
	BGR888                 // three bytes: blue, green, red
	RGB565                 // 16 bits, red in the highest, low byte first
	RGB565BE               // the same, high byte first
	YUYV                   // YUV 4:2:2, two pixels in four bytes: Y U Y V (YUY2)
	UYVY                   // the same as U Y V Y
	Grey8                  // one byte
)

var formatNames = []string{"rgb888", "bgr888", "rgb565", "rgb565be", "yuyv", "uyvy", "grey8"}

// Formats are the names of all formats.
func Formats() []string { return formatNames }

func (f Format) String() string { return formatNames[f] }

// RowBytes is the length of a row of a frame; a last pixel without a partner takes
// the bytes of two.
func (f Format) RowBytes(width int) int {
	switch f {
	case RGB888, BGR888:
		return 3 * width
	case RGB565, RGB565BE:
		return 2 * width
	case YUYV, UYVY:
		return (width + 1) / 2 * 4
	}
	return width
}

// YUV are the factors, in 1/256, that turn Y, U, V into red, green, blue.
type YUV struct{ Offset, Y, RV, GU, GV, BU int32 }

// ITU-R BT.601. Limited: Y from 16 to 235, as cameras send video; full: 0 to 255,
// as in JPEG files.
var (
	limitedYUV = YUV{16, 298, 409, 100, 208, 516}
	fullYUV    = YUV{0, 256, 359, 88, 183, 454}
)

// toByte is v/256, at least 0 and at most 255.
func toByte(v int32) uint8 {
	if v < 0 {
		return 0
	}
	return uint8(min(v>>8, 255))
}

// grey is the luma of a colour: ITU-R BT.601 in 1/65536.
func grey(r, g, b uint8) uint8 {
	return uint8((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}

// at is the pixel (x, y) of a frame in the input's colours: one value, or red,
// green, blue.
func (m *Image) at(frame []byte, x, y int) (p [3]uint8) {
	row := frame[y*m.Format.RowBytes(m.Width):]
	switch m.Format {
	case RGB888:
		p = [3]uint8{row[3*x], row[3*x+1], row[3*x+2]}
	case BGR888:
		p = [3]uint8{row[3*x+2], row[3*x+1], row[3*x]}
	case RGB565, RGB565BE:
		lo, hi := row[2*x], row[2*x+1]
		if m.Format == RGB565BE {
			lo, hi = hi, lo
		}
		r, g, b := hi>>3, hi&7<<3|lo>>5, lo&31
		p = [3]uint8{r<<3 | r>>2, g<<2 | g>>4, b<<3 | b>>2}
	case Grey8:
		return [3]uint8{row[x], row[x], row[x]}
	default:
		return m.colour(row[x/2*4:], x&1)
	}
	if m.Channels == 1 {
		p[0] = grey(p[0], p[1], p[2])
	}
	return p
}

// colour is the first or second pixel of a pair.
func (m *Image) colour(pair []byte, second int) [3]uint8 {
	y, u, v := pair[2*second], pair[1], pair[3]
	if m.Format == UYVY {
		y, u, v = pair[2*second+1], pair[0], pair[2]
	}
	k := m.YUV()
	l := k.Y*(int32(y)-k.Offset) + 128
	if m.Channels == 1 {
		return [3]uint8{toByte(l)}
	}
	d, e := int32(u)-128, int32(v)-128
	return [3]uint8{toByte(l + k.RV*e), toByte(l - k.GU*d - k.GV*e), toByte(l + k.BU*d)}
}

// YUV are the factors of the frame's range, in 1/256.
func (m *Image) YUV() YUV {
	if m.FullRange {
		return fullYUV
	}
	return limitedYUV
}

// Encode gives a picture, red, green, blue of every pixel, as a frame of a format:
// what a camera would have sent. YUV is of full range if full.
func Encode(rgb []byte, width, height int, f Format, full bool) []byte {
	if f == RGB888 {
		return rgb
	}
	out := make([]byte, f.RowBytes(width)*height)
	for y := range height {
		in, row := rgb[3*width*y:], out[f.RowBytes(width)*y:]
		for x := range width {
			r, g, b := in[3*x], in[3*x+1], in[3*x+2]
			switch f {
			case BGR888:
				row[3*x], row[3*x+1], row[3*x+2] = b, g, r
			case RGB565, RGB565BE:
				hi, lo := r&0xf8|g>>5, g>>2<<5|b>>3
				if f == RGB565BE {
					lo, hi = hi, lo
				}
				row[2*x], row[2*x+1] = lo, hi
			case Grey8:
				row[x] = grey(r, g, b)
			case YUYV, UYVY:
				if x&1 == 0 {
					encodePair(in[3*x:], row[2*x:], f, full, x+1 < width)
				}
			}
		}
	}
	return out
}

// encodePair writes four bytes of YUV 4:2:2; a single pixel counts twice.
func encodePair(in, out []byte, f Format, full, two bool) {
	second := in[:3]
	if two {
		second = in[3:6]
	}
	var luma [2]uint8
	var mean [3]int32
	for i, p := range [][]byte{in[:3], second} {
		r, g, b := int32(p[0]), int32(p[1]), int32(p[2])
		if full {
			luma[i] = toByte(77*r + 150*g + 29*b + 128)
		} else {
			luma[i] = toByte(66*r + 129*g + 25*b + 128 + 16<<8)
		}
	}
	for c := range mean {
		mean[c] = (int32(in[c]) + int32(second[c]) + 1) >> 1
	}
	r, g, b := mean[0], mean[1], mean[2]
	u, v := toByte(-38*r-74*g+112*b+128+128<<8), toByte(112*r-94*g-18*b+128+128<<8)
	if full {
		u, v = toByte(-43*r-85*g+128*b+128+128<<8), toByte(128*r-107*g-21*b+128+128<<8)
	}
	if f == YUYV {
		out[0], out[1], out[2], out[3] = luma[0], u, luma[1], v
	} else {
		out[0], out[1], out[2], out[3] = u, luma[0], v, luma[1]
	}
}

// Size reads WIDTHxHEIGHT, each from 1 to MaxSide.
func Size(s string) (width, height int, err error) {
	n, e := fmt.Sscanf(strings.ToLower(s), "%dx%d", &width, &height)
	if e != nil || n != 2 || fmt.Sprintf("%dx%d", width, height) != strings.ToLower(s) || width < 1 || height < 1 ||
		width > MaxSide || height > MaxSide {
		return 0, 0, fmt.Errorf("want WIDTHxHEIGHT, such as 320x240, each from 1 to %d", MaxSide)
	}
	return width, height, nil
}
