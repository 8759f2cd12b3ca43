package mcp

import "log/slog"

// levels lists the log levels in ascending severity, with the names of syslog.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// Levels lists the log levels of the protocol, least severe first.
func Levels() []string { return levels }

// ParseLevel returns the protocol's name of a level; "warn" is an alias of
// "warning".
func ParseLevel(name string) (string, bool) {
	if name == "warn" {
		return "warning", true
	}
	for _, l := range levels {
		if l == name {
			return l, true
		}
	}
	return "", false
}

// LevelAtLeast reports whether level is as severe as floor. An unknown level
// passes, so that levels that a server invents are not hidden.
func LevelAtLeast(level, floor string) bool {
	l, f := levelIndex(level), levelIndex(floor)
	return l < 0 || l >= f
}

func levelIndex(name string) int {
	for i, l := range levels {
		if l == name {
			return i
		}
	}
	return -1
}

// SlogLevel returns the slog level for a protocol level.
func SlogLevel(name string) slog.Level {
	switch levelIndex(name) {
	case 0:
		return slog.LevelDebug
	case 1, 2:
		return slog.LevelInfo
	case 3:
		return slog.LevelWarn
	default:
		return slog.LevelError
	}
}
