package jsonrpc

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// Quote returns s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func Quote(s string) []byte {
	return AppendQuoted(make([]byte, 0, len(s)+2), s)
}

// AppendQuoted appends s as a JSON string, like Quote.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	plain := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		dst = append(dst, s[plain:i]...)
		i++
		plain = i
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			if c >= utf8.RuneSelf {
				dst = append(dst, "\ufffd"...)
			} else {
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
		}
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

// unquote returns the text of a JSON string, given with its quotes.
func unquote(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return string(AppendUnescaped(nil, inner))
}

// AppendUnescaped appends the text between the quotes of a JSON string. A lone
// surrogate becomes U+FFFD; an invalid \u escape is kept unchanged.
func AppendUnescaped(dst, inner []byte) []byte {
	for {
		n := bytes.IndexByte(inner, '\\')
		if n < 0 || n+1 >= len(inner) {
			return append(dst, inner...)
		}
		dst = append(dst, inner[:n]...)
		c := inner[n+1]
		inner = inner[n+2:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(inner, 0)
			if r < 0 {
				dst = append(dst, '\\', 'u')
				continue
			}
			inner = inner[4:]
			if r >= 0xd800 && r < 0xdc00 && len(inner) >= 6 && inner[0] == '\\' && inner[1] == 'u' {
				if low := hex4(inner, 2); low >= 0xdc00 && low <= 0xdfff {
					r = 0x10000 + (r-0xd800)<<10 + (low - 0xdc00)
					inner = inner[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
}

// Compact appends src to dst without insignificant white space. The result is
// one line: a line break inside a string, which JSON forbids, is escaped.
func Compact(dst, src []byte) []byte {
	inString := false
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case c == '"':
			inString = !inString
		case !inString && c <= ' ' && spaces>>c&1 == 1:
			continue
		case inString && c == '\\' && i+1 < len(src) && src[i+1] >= ' ':
			i++
			dst = append(dst, c, src[i])
			continue
		case inString && c == '\n':
			dst = append(dst, '\\', 'n')
			continue
		case inString && c == '\r':
			dst = append(dst, '\\', 'r')
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// Decode decodes a JSON value and keeps its numbers as written.
func Decode(raw []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}

// Canonical returns a JSON value with sorted members. Numbers stay as written: 1
// and 1.0 differ. What is not JSON is returned as it is.
func Canonical(raw []byte) []byte {
	v, err := Decode(raw)
	if err != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}
