package jsonschema

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// A decimal is a number as digits times a power of ten, never expanded. Two
// decimals are equal if and only if they are the same number.
type decimal struct {
	negative bool
	digits   string // without zeros at either end; empty for zero
	exponent int
}

const (
	// maxExponent limits exponents; larger ones are treated as equal.
	maxExponent = 1 << 40
	// maxDigits limits the numbers that are divided.
	maxDigits = 1_000
)

// SameNumber reports whether two numbers are equal, however they are written.
func SameNumber(a, b json.Number) bool { return decimalOf(a) == decimalOf(b) }

func decimalOf(n json.Number) decimal {
	var d decimal
	text, negative := strings.CutPrefix(string(n), "-")
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		// ParseInt returns the largest or smallest number if e is out of range.
		e, _ := strconv.ParseInt(text[at+1:], 10, 64)
		d.exponent = int(min(max(e, -maxExponent), maxExponent))
		text = text[:at]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	d.exponent -= len(fraction)
	all := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(all, "0")
	d.exponent += len(all) - len(d.digits)
	if d.digits == "" {
		return decimal{}
	}
	d.negative = negative
	return d
}

func (d decimal) whole() bool { return d.exponent >= 0 }

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func (d decimal) compare(o decimal) int {
	if c := cmp.Compare(d.sign(), o.sign()); c != 0 || d.digits == "" {
		return c
	}
	// The number with more digits before the point is larger; otherwise the
	// first different digit decides.
	c := cmp.Or(cmp.Compare(len(d.digits)+d.exponent, len(o.digits)+o.exponent), strings.Compare(d.digits, o.digits))
	return c * d.sign()
}

// multipleOf reports whether d is a multiple of o. It also returns true if the
// numbers are too long to check.
func (d decimal) multipleOf(o decimal) bool {
	shift := d.exponent - o.exponent
	switch {
	case d.digits == "":
		return true
	case shift < 0:
		// The digits of a decimal never end in zero, so they are not divisible
		// by ten.
		return false
	case len(d.digits) > maxDigits || len(o.digits) > maxDigits:
		return true
	}
	n, _ := new(big.Int).SetString(d.digits, 10)
	by, _ := new(big.Int).SetString(o.digits, 10)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), by)
	return n.Mul(n, power).Rem(n, by).Sign() == 0
}

// append appends the canonical form of the number.
func (d decimal) append(dst []byte) []byte {
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(append(dst, '0'), d.digits...)
	return strconv.AppendInt(append(dst, 'e'), int64(d.exponent), 10)
}

// count reads a length limit.
func count(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	d := decimalOf(n)
	if !d.whole() || d.negative || len(d.digits)+d.exponent > 18 {
		return 0, false
	}
	i, err := strconv.Atoi(d.digits + strings.Repeat("0", d.exponent))
	return i, err == nil || d.digits == ""
}
