package script

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// wellFormed replaces unpaired surrogates in JSON of the engine by U+FFFD.
// JavaScript strings may have them, but JSON for other programs must not. The
// engine writes them as \ud800 to \udfff.
func wellFormed(json string) string {
	if !strings.Contains(json, `\ud`) {
		return json
	}
	var b strings.Builder
	for i := 0; i < len(json); {
		unit, escaped := unitAt(json, i)
		next, _ := unitAt(json, i+6)
		switch {
		case json[i] == '\\' && !escaped && i+1 < len(json):
			b.WriteString(json[i : i+2])
			i += 2
		case !escaped:
			b.WriteByte(json[i])
			i++
		case unit >= 0xd800 && unit < 0xdc00 && next >= 0xdc00 && next < 0xe000:
			b.WriteString(json[i : i+12])
			i += 12
		case unit >= 0xd800 && unit < 0xe000:
			b.WriteString(`\ufffd`)
			i += 6
		default:
			b.WriteString(json[i : i+6])
			i += 6
		}
	}
	return b.String()
}

// unitAt returns the code unit of the \u escape at index i.
func unitAt(json string, i int) (unit uint64, ok bool) {
	if i+6 > len(json) || json[i] != '\\' || json[i+1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(json[i+2:i+6], 16, 16)
	return unit, err == nil
}

// ascii writes the characters of JSON that are not ASCII as \u escapes.
func ascii(json string) string {
	others := 0
	for i := range len(json) {
		others += int(json[i] >> 7)
	}
	if others == 0 {
		return json
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	b.Grow(len(json) + 2*others) // at most
	for _, r := range json {
		if r < utf8.RuneSelf {
			b.WriteByte(byte(r))
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b.Write([]byte{'\\', 'u', hex[unit>>12], hex[unit>>8&15], hex[unit>>4&15], hex[unit&15]})
		}
	}
	return b.String()
}
