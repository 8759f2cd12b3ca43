package config

import (
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{"30s": 30 * time.Second, "1500": 1500 * time.Millisecond, "1.5": 1500 * time.Microsecond, "1m30s": 90 * time.Second} {
		if got, err := parseDuration(text); got != want || err != nil {
			t.Errorf("parseDuration(%q) = %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]int64{"10MiB": 10 << 20, "10mb": 10e6, "64 KiB": 64 << 10, "7": 7, "7B": 7, "1.5K": 1536, "1G": 1 << 30} {
		if got, err := parseSize(text); got != want || err != nil {
			t.Errorf("parseSize(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "x", "MiB", "1XB", "NaN", "1 2"} {
		if _, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q) was accepted", text)
		}
		if _, err := parseDuration(text); err == nil && text != "NaN" {
			t.Errorf("parseDuration(%q) was accepted", text)
		}
	}
	for n, want := range map[int64]string{10 << 20: "10MiB", 1500: "1500", 64 << 10: "64KiB"} {
		if got := formatSize(n); got != want {
			t.Errorf("formatSize(%d) = %s", n, got)
		}
	}
}
