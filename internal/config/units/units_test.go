package units

import (
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{"30s": 30 * time.Second, "1500": 1500 * time.Millisecond, "1.5": 1500 * time.Microsecond, "1m30s": 90 * time.Second} {
		if got, err := Duration(text); got != want || err != nil {
			t.Errorf("Duration(%q) = %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]int64{"10MiB": 10 << 20, "10mb": 10e6, "64 KiB": 64 << 10, "7": 7, "7B": 7, "1.5K": 1536, "1G": 1 << 30} {
		if got, err := Size(text); got != want || err != nil {
			t.Errorf("Size(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "MiB", "1XB", "NaN", "1 2"} {
		if _, err := Size(text); err == nil {
			t.Errorf("Size(%q) was accepted", text)
		}
		if _, err := Duration(text); err == nil && text != "NaN" {
			t.Errorf("Duration(%q) was accepted", text)
		}
	}
	for n, want := range map[int64]string{10 << 20: "10MiB", 1500: "1500", 64 << 10: "64KiB"} {
		if got := FormatSize(n); got != want {
			t.Errorf("FormatSize(%d) = %s", n, got)
		}
	}
}
