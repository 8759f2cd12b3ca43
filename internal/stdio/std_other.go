//go:build unix && !linux

package stdio

import "os"

func pollable(f *os.File) *os.File { return f }
