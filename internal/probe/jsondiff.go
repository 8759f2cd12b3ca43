package probe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
	"mcp-all-in-one/internal/lazy"
)

// A Difference is one difference between two JSON values. A missing value is
// nil.
type Difference struct {
	Path string          `json:"path"`
	A    json.RawMessage `json:"a,omitempty"`
	B    json.RawMessage `json:"b,omitempty"`
}

func (d Difference) String() string { return d.In(i18n.English) }

// In returns the difference in the given language. Long values are clipped.
func (d Difference) In(l i18n.Lang) string {
	a, b := Clip(d.A), Clip(d.B)
	if d.A != nil && d.B != nil {
		a, b = clipBoth(d.A, d.B)
	}
	return d.text(l, a, b)
}

// Whole is like In, but clips nothing: it is for a person who is asked to agree.
func (d Difference) Whole(l i18n.Lang) string { return d.text(l, string(d.A), string(d.B)) }

func (d Difference) text(l i18n.Lang, a, b string) string {
	switch {
	case d.A == nil:
		return i18n.New("%s: only in the second: %s", "%s：只在后者中：%s", d.Path, b).In(l)
	case d.B == nil:
		return i18n.New("%s: only in the first: %s", "%s：只在前者中：%s", d.Path, a).In(l)
	}
	return i18n.New("%s: %s, then %s", "%s：前为 %s，后为 %s", d.Path, a, b).In(l)
}

// Unmet describes the difference between an expected value A and an actual
// value B.
func (d Difference) Unmet() i18n.Text {
	switch {
	case d.A == nil:
		return i18n.New("%s: not expected: %s", "%s：多出 %s", d.Path, Clip(d.B))
	case d.B == nil:
		return i18n.New("%s: missing, expected %s", "%s：缺少，应为 %s", d.Path, Clip(d.A))
	}
	a, b := clipBoth(d.A, d.B)
	return i18n.New("%s: expected %s, got %s", "%s：应为 %s，实际为 %s", d.Path, a, b)
}

const clipAt = 120

func Clip(raw []byte) string {
	if r := []rune(string(raw)); len(r) > clipAt {
		return string(r[:clipAt]) + "…"
	}
	return string(raw)
}

// clipBoth shortens two different values. It omits a long common prefix,
// because otherwise both would look the same.
func clipBoth(a, b []byte) (string, string) {
	const context = 20
	x, y := []rune(string(a)), []rune(string(b))
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	if max(len(x), len(y)) <= clipAt || same <= context {
		return Clip(a), Clip(b)
	}
	from := same - context
	return "…" + Clip([]byte(string(x[from:]))), "…" + Clip([]byte(string(y[from:])))
}

// MaxDifferences keeps a comparison readable.
const MaxDifferences = 100

// DiffJSON lists the first MaxDifferences differences of two values, except at the
// ignored paths. Numbers are compared by value.
func DiffJSON(a, b json.RawMessage, ignore []Places) ([]Difference, error) {
	found, err := DiffAll(a, b, ignore)
	return found[:min(len(found), MaxDifferences)], err
}

// DiffAll is like DiffJSON, but lists all differences.
func DiffAll(a, b json.RawMessage, ignore []Places) ([]Difference, error) {
	va, err := DecodeSide(a)
	if err != nil {
		return nil, i18n.Errorf("reading the first value: %w", "读取第一个值失败：%w", err)
	}
	vb, err := DecodeSide(b)
	if err != nil {
		return nil, i18n.Errorf("reading the second value: %w", "读取第二个值失败：%w", err)
	}
	for _, p := range ignore {
		va, vb = p.Remove(va), p.Remove(vb)
	}
	var found []Difference
	diff("", va, vb, &found)
	return found, nil
}

// DecodeSide decodes one side of a comparison; an absent value is null.
func DecodeSide(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	return jsonrpc.Decode(raw)
}

func diff(path string, a, b any, found *[]Difference) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			diffObjects(path, x, y, found)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			diffArrays(path, x, y, found)
			return
		}
	case json.Number:
		if y, ok := b.(json.Number); ok && jsonschema.SameNumber(x, y) {
			return
		}
	default:
		if a == b {
			return
		}
	}
	*found = append(*found, Difference{cmp.Or(path, "."), Encode(a), Encode(b)})
}

func diffObjects(path string, a, b map[string]any, found *[]Difference) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		at := member(path, name)
		if other, ok := b[name]; ok {
			diff(at, a[name], other, found)
		} else {
			*found = append(*found, Difference{Path: at, A: Encode(a[name])})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[name]; !ok {
			*found = append(*found, Difference{Path: member(path, name), B: Encode(b[name])})
		}
	}
}

var plainName = lazy.Regexp(`^[A-Za-z_]\w*$`)

// member returns the path of a member in jq syntax.
func member(path, name string) string {
	if plainName().MatchString(name) {
		return path + "." + name
	}
	return cmp.Or(path, ".") + "[" + string(Encode(name)) + "]"
}

func diffArrays(path string, a, b []any, found *[]Difference) {
	for i := range max(len(a), len(b)) {
		at := fmt.Sprintf("%s[%d]", cmp.Or(path, "."), i)
		switch {
		case i >= len(a):
			*found = append(*found, Difference{Path: at, B: Encode(b[i])})
		case i >= len(b):
			*found = append(*found, Difference{Path: at, A: Encode(a[i])})
		default:
			diff(at, a[i], b[i], found)
		}
	}
}

func Encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // the value was decoded from JSON
	}
	return raw
}
