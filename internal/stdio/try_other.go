//go:build !linux && !darwin

package stdio

import "io"

// A tryReader reads without waiting, which cannot be done here.
type tryReader struct{}

func newTryReader(io.Reader) *tryReader { return nil }

func (*tryReader) read([]byte) int { return 0 }
