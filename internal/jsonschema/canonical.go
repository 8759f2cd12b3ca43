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

// spend takes work from the budget, and says whether there was enough.
func (e *evaluation) spend(work int) bool {
	e.work += work
	if e.work > maxWork {
		e.spent = true
	}
	return !e.spent
}

// width is what one look at a value costs, without what is in it.
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

// among says whether v is one of the values with these keys, or too large to
// tell.
func (e *evaluation) among(keys map[string]bool, v any) bool {
	key, ok := e.key(v)
	return !ok || keys[string(key)]
}

// allDifferent says whether no two values are equal, or that they are too large
// to tell.
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

// key is the canonical text of a value until the next one is made; false when
// the budget is used up.
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

// canonical is a text that two values share if and only if they are equal.
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

// A writer writes a value as JSON, up to a number of bytes; members are in
// order.
type writer struct {
	out   []byte
	limit int
	// canonical writes each number in one way.
	canonical bool
	sorted    int // members that were put in order
}

// What writing a byte and visiting a member cost, in looks at a byte.
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
		return // no string fails
	}
	w.out = append(w.out, raw...)
}
