package jsonschema

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"mcp-all-in-one/internal/i18n"
)

// spend takes work from the budget, and reports whether it was sufficient.
func (e *evaluation) spend(work int) bool {
	e.work += work
	if e.work > maxWork {
		e.spent = true
	}
	return !e.spent
}

// width returns the cost of visiting a value, without its contents.
func width(v any) int {
	switch v := v.(type) {
	case json.Number:
		return len(v)
	case string:
		return len(v)
	case map[string]any:
		return perMember * len(v)
	}
	return 1
}

// among reports whether v is one of the values with these keys. It also returns
// true if v is too large to check.
func (e *evaluation) among(keys map[string]bool, v any) bool {
	key, ok := e.key(v)
	return !ok || keys[string(key)]
}

// allDifferent reports whether no two values are equal. It also returns true if
// they are too large to check.
func (e *evaluation) allDifferent(values []any) bool {
	if len(values) < 2 {
		return true
	}
	had := make(map[string]bool)
	for _, v := range values {
		key, ok := e.key(v)
		if !ok {
			return true
		}
		if had[string(key)] {
			return false
		}
		had[string(key)] = true
	}
	return true
}

// key returns the canonical text of a value, which is valid until the next
// call; false if the budget is used up.
func (e *evaluation) key(v any) ([]byte, bool) {
	w := writer{out: e.text[:0], limit: (maxWork-e.work)/perByte + 1, canonical: true}
	w.value(v)
	e.text = w.out
	return w.out, e.spend(w.work())
}

// show quotes the beginning of a value.
func (e *evaluation) show(v any) i18n.Text {
	w := quote(v)
	e.spend(w.work())
	return i18n.Plain(clip(string(w.out)))
}

// canonical returns a text that two values share if and only if they are equal.
func canonical(v any) string {
	w := writer{limit: math.MaxInt, canonical: true}
	w.value(v)
	return string(w.out)
}

func quote(v any) writer {
	w := writer{limit: utf8.UTFMax * maxShown}
	w.value(v)
	return w
}

// A writer writes a value as JSON, up to a number of bytes, with sorted
// members.
type writer struct {
	out   []byte
	limit int
	// canonical writes equal numbers in the same form.
	canonical bool
	sorted    int // sorted members
}

// Cost of writing a byte and of visiting a member, relative to reading a byte.
const (
	perByte   = 4
	perMember = 64
)

func (w *writer) work() int { return perByte*len(w.out) + perMember*w.sorted }

func (w *writer) full() bool { return len(w.out) >= w.limit }

func (w *writer) value(v any) {
	switch v := v.(type) {
	case json.Number:
		if w.canonical {
			w.out = decimalOf(v).append(w.out)
			return
		}
		w.out = append(w.out, v[:min(len(v), w.limit)]...)
	case string:
		w.text(v)
	case bool:
		w.out = strconv.AppendBool(w.out, v)
	case []any:
		w.out = append(w.out, '[')
		for i, sub := range v {
			if w.full() {
				return
			}
			if i > 0 {
				w.out = append(w.out, ',')
			}
			w.value(sub)
		}
		w.out = append(w.out, ']')
	case map[string]any:
		w.members(v)
	default:
		w.out = append(w.out, "null"...)
	}
}

func (w *writer) members(v map[string]any) {
	w.out = append(w.out, '{')
	w.sorted += len(v)
	for i, name := range slices.Sorted(maps.Keys(v)) {
		if w.full() {
			return
		}
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.text(name)
		w.out = append(w.out, ':')
		w.value(v[name])
	}
	w.out = append(w.out, '}')
}

func (w *writer) text(s string) {
	if !w.canonical {
		s = s[:min(len(s), w.limit)]
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return // strings never fail
	}
	w.out = append(w.out, raw...)
}
