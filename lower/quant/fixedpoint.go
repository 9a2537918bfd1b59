package quant

// FixedPoint x
type FixedPoint struct{}

func (c *calibrator) fixedPoint() error { return nil }
