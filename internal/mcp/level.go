package mcp

import "log/slog"

// levels in ascending severity, as syslog names them.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// Levels lists the log levels of the protocol, least severe first.
func Levels() []string { return levels }

// ParseLevel returns the protocol's name for a level; "warn" is another name
// of "warning".
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

// LevelAtLeast says whether level is as severe as floor. An unknown level
// passes: what a server invents is not ours to hide.
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

// SlogLevel is the level of our own log that corresponds to a protocol level.
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
