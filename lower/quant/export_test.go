package quant

// EqualizeForTest is equalize.
var EqualizeForTest = equalize
