package qref

// Minimum is the element-wise minimum of two int8 tensors of equal scale and
// zero point; dimensions of 1 broadcast. Source: arm_minimum_s8 (see README for
// the shapes that the library itself gets wrong).
func Minimum(ad, bd Dims, a, b, out []int8) error {
	return broadcast("Minimum", ad, bd, a, b, out, func(x, y int8) int8 { return min(x, y) })
}

// Maximum is the element-wise maximum. Source: arm_maximum_s8.
func Maximum(ad, bd Dims, a, b, out []int8) error {
	return broadcast("Maximum", ad, bd, a, b, out, func(x, y int8) int8 { return max(x, y) })
}

func broadcast(name string, ad, bd Dims, a, b, out []int8, f func(x, y int8) int8) error {
	if err := firstErr(checkDims(name, "first input", ad), checkDims(name, "second input", bd)); err != nil {
		return err
	}
	o := Dims{max(ad.N, bd.N), max(ad.H, bd.H), max(ad.W, bd.W), max(ad.C, bd.C)}
	for _, d := range []Dims{ad, bd} {
		if !broadcasts(d.N, o.N) || !broadcasts(d.H, o.H) || !broadcasts(d.W, o.W) || !broadcasts(d.C, o.C) {
			return badArgs(name, "inputs %v and %v do not broadcast", ad, bd)
		}
	}
	if err := firstErr(checkLen(name, "first input", len(a), ad.Size()), checkLen(name, "second input", len(b),
		bd.Size()),
		checkLen(name, "output", len(out), o.Size())); err != nil {
		return err
	}
	i := 0
	for n := range o.N {
		for h := range o.H {
			for w := range o.W {
				ai := ((n%ad.N*ad.H+h%ad.H)*ad.W + w%ad.W) * ad.C
				bi := ((n%bd.N*bd.H+h%bd.H)*bd.W + w%bd.W) * bd.C
				for c := range o.C {
					out[i] = f(a[ai+c%ad.C], b[bi+c%bd.C])
					i++
				}
			}
		}
	}
	return nil
}
