//go:build unix && !linux

package stdio

import "errors"

func closeOnExecAbove(int) error { return errors.ErrUnsupported }
