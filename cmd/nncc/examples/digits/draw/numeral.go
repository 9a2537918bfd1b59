// SPDX-License-Identifier: Apache-2.0

package draw

// numeral gives the strokes of one numeral in the unit square, written in one
// of several hands. Points move a little from image to image.
func (p pen) numeral(label int) []stroke {
	at := func(x, y float64) point { return point{x + p.bell(0.025), y + p.bell(0.025)} }
	hands := numerals[label]
	return hands[p.IntN(len(hands))](p, at)
}

// hand writes a numeral; at gives a point that moved a little.
type hand func(p pen, at func(x, y float64) point) []stroke

// numerals are the ways to write each numeral.
var numerals = [Classes][]hand{
	0: {
		func(p pen, _ func(x, y float64) point) []stroke {
			from := p.in(-150, -30)
			return []stroke{arc(0.5, 0.5, p.in(0.3, 0.45), p.in(0.44, 0.5), from, from+p.in(335, 375))}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{curve(at(0.55, 0.02), at(0.2, 0.2), at(0.12, 0.6), at(0.4, 0.97), at(0.8, 0.75),
				at(0.85, 0.3), at(0.55, 0.02))}
		},
	},
	1: {
		func(_ pen, at func(x, y float64) point) []stroke { return []stroke{line(at(0.5, 0), at(0.5, 1))} },
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{line(at(0.25, 0.25), at(0.55, 0), at(0.55, 1))}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{line(at(0.28, 0.22), at(0.52, 0), at(0.52, 1)), line(at(0.25, 1), at(0.8, 1))}
		},
	},
	2: {
		func(_ pen, at func(x, y float64) point) []stroke {
			s := curve(at(0.12, 0.25), at(0.3, 0.04), at(0.65, 0.02), at(0.85, 0.28), at(0.6, 0.6), at(0.1, 1))
			return []stroke{append(s, line(s[len(s)-1], at(0.9, 0.98))...)}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{curve(at(0.15, 0.2), at(0.45, 0), at(0.82, 0.22), at(0.6, 0.62), at(0.25, 0.95),
				at(0.1, 0.88), at(0.3, 0.8), at(0.6, 0.95), at(0.92, 0.92))}
		},
	},
	3: {
		func(_ pen, at func(x, y float64) point) []stroke {
			mid := at(0.42, 0.47)
			return []stroke{
				curve(at(0.15, 0.12), at(0.5, 0), at(0.82, 0.22), mid),
				curve(mid, at(0.85, 0.6), at(0.8, 0.9), at(0.45, 1), at(0.1, 0.88)),
			}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			mid := at(0.42, 0.4)
			return []stroke{
				line(at(0.15, 0.02), at(0.82, 0.02), mid),
				curve(mid, at(0.8, 0.5), at(0.85, 0.82), at(0.5, 1), at(0.12, 0.9)),
			}
		},
	},
	4: {
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{line(at(0.55, 0), at(0.08, 0.65), at(0.95, 0.65)), line(at(0.68, 0.35), at(0.66, 1))}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			top := at(0.66, 0)
			return []stroke{line(top, at(0.06, 0.68), at(0.95, 0.68)), line(top, at(0.66, 1))}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{curve(at(0.2, 0.02), at(0.14, 0.45), at(0.45, 0.55), at(0.78, 0.48)),
				line(at(0.8, 0.02), at(0.76, 1))}
		},
	},
	5: {
		func(_ pen, at func(x, y float64) point) []stroke {
			s := line(at(0.85, 0.02), at(0.22, 0.02), at(0.18, 0.45))
			return []stroke{append(s, curve(s[len(s)-1], at(0.55, 0.36), at(0.87, 0.62), at(0.6, 0.97),
				at(0.12, 0.92))...)}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			start := at(0.25, 0.05)
			return []stroke{
				curve(start, at(0.2, 0.42), at(0.6, 0.4), at(0.85, 0.68), at(0.55, 1), at(0.15, 0.88)),
				line(start, at(0.88, 0.03)),
			}
		},
	},
	6: {
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{curve(at(0.75, 0.03), at(0.35, 0.2), at(0.12, 0.65), at(0.4, 1), at(0.82, 0.8),
				at(0.68, 0.5), at(0.3, 0.55), at(0.14, 0.75))}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			s := line(at(0.6, 0), at(0.2, 0.6))
			return []stroke{append(s, curve(s[len(s)-1], at(0.2, 0.9), at(0.5, 1), at(0.82, 0.78), at(0.55, 0.52),
				at(0.2, 0.7))...)}
		},
	},
	7: {
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{line(at(0.1, 0.03), at(0.88, 0.03), at(0.4, 1))}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{line(at(0.12, 0.03), at(0.88, 0.03), at(0.35, 1)), line(at(0.3, 0.5), at(0.8, 0.5))}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			s := line(at(0.12, 0.15), at(0.14, 0.02), at(0.86, 0.02))
			return []stroke{append(s, curve(s[len(s)-1], at(0.6, 0.45), at(0.5, 1))...)}
		},
	},
	8: {
		func(p pen, _ func(x, y float64) point) []stroke {
			waist := p.in(0.4, 0.5)
			return []stroke{
				arc(0.5+p.bell(0.03), waist/2, p.in(0.24, 0.34), waist/2, 90, 450),
				arc(0.5+p.bell(0.03), (1+waist)/2, p.in(0.3, 0.42), (1-waist)/2, -90, 270),
			}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{curve(at(0.82, 0.15), at(0.45, 0), at(0.2, 0.22), at(0.5, 0.47), at(0.82, 0.76), at(0.5, 1),
				at(0.17, 0.78), at(0.5, 0.47), at(0.82, 0.15))}
		},
	},
	9: {
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{curve(at(0.84, 0.2), at(0.5, 0), at(0.16, 0.25), at(0.4, 0.52), at(0.76, 0.38),
				at(0.84, 0.2)), line(at(0.84, 0.15), at(0.7, 1))}
		},
		func(_ pen, at func(x, y float64) point) []stroke {
			return []stroke{curve(at(0.82, 0.25), at(0.55, 0), at(0.18, 0.22), at(0.4, 0.5), at(0.78, 0.35),
				at(0.85, 0.2), at(0.82, 0.7), at(0.55, 0.99), at(0.2, 0.9))}
		},
	},
}
