// Package units reads and writes the durations and sizes of the config file.
package units

import (
	"math"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
)

var (
	errDuration = i18n.Errorf(`a duration such as "30s", or a number of milliseconds`, `时长（如 "30s"，或毫秒数）`)
	errSize     = i18n.Errorf(`a size such as "10MiB", or a number of bytes`, `大小（如 "10MiB"，或字节数）`)
)

// Duration reads a duration such as "30s". A bare number counts
// milliseconds.
func Duration(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if ms, err := strconv.ParseFloat(s, 64); err == nil {
		ns := ms * float64(time.Millisecond)
		if math.IsNaN(ns) || math.Abs(ns) > float64(math.MaxInt64)/2 {
			return math.MaxInt64, nil // above every maximum, so the range check reports it
		}
		return time.Duration(ns), nil
	}
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	return 0, errDuration
}

// sizeUnits are tried in this order, so longer suffixes come first.
var sizeUnits = []struct {
	suffix string
	factor int64
}{
	{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"TIB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40},
	{"B", 1}, {"", 1},
}

// Size reads a size such as "10MiB" or "10MB". A bare number counts bytes.
func Size(s string) (int64, error) {
	upper := strings.ToUpper(strings.TrimSpace(s))
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(upper, u.suffix)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || math.IsNaN(f) {
			return 0, errSize
		}
		if f *= float64(u.factor); math.Abs(f) > 1<<60 {
			return math.MaxInt64, nil // above every maximum, so the range check reports it
		}
		return int64(f), nil
	}
	return 0, errSize
}

// FormatSize writes a size in the largest unit that divides it.
func FormatSize(n int64) string {
	for i := 3; i >= 0; i-- {
		if u := sizeUnits[i]; n >= u.factor && n%u.factor == 0 {
			return strconv.FormatInt(n/u.factor, 10) + u.suffix[:1] + "iB"
		}
	}
	return strconv.FormatInt(n, 10)
}
