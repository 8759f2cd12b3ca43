package probe

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJSONPath(t *testing.T) {
	const doc = `{"items":[{"id":1,"at":"x"},{"id":2,"at":"y"}],"odd name":{"at":"z"},"n":null}`
	for path, want := range map[string]string{
		"$.items[*].id": `[1,2]`, "items[1].at": `["y"]`, "$..at": `["x","y","z"]`, "$['odd name'].at": `["z"]`,
		"$.*.at": `["z"]`, "$.none": `null`, "$.n": `[null]`, "$.items[7]": `null`, "$..[0]": `[{"at":"x","id":1}]`,
	} {
		p, err := ParseJSONPath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		value, _ := decodeJSON([]byte(doc))
		if got := string(encode(p.Find(value))); got != want {
			t.Errorf("%s found %s, want %s", path, got, want)
		}
	}
	for _, bad := range []string{"$.", "$.a[", "$.a[x]", "$.a..", "$[-1]"} {
		if _, err := ParseJSONPath(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestDiffJSON(t *testing.T) {
	for _, tt := range []struct {
		a, b   string
		ignore string
		want   []string
	}{
		{a: `{"a":1}`, b: `{"a":1.0}`},
		{a: `{"a":12345678901234567890}`, b: `{"a":12345678901234567891}`, want: []string{"$.a"}},
		{a: `{"a":1,"b":[1,2]}`, b: `{"b":[1,3,4],"c":null}`, want: []string{"$.a", "$.b[1]", "$.b[2]", "$.c"}},
		{a: `{"a":{"t":1,"k":2}}`, b: `{"a":{"t":5,"k":2}}`, ignore: "$..t"},
		{a: `{"a":[1]}`, b: `{"a":{"0":1}}`, want: []string{"$.a"}},
		{a: `null`, b: ``},
		{a: `"x"`, b: `"y"`, want: []string{"$"}},
	} {
		var ignore []JSONPath
		if tt.ignore != "" {
			p, err := ParseJSONPath(tt.ignore)
			if err != nil {
				t.Fatal(err)
			}
			ignore = append(ignore, p)
		}
		found, err := DiffJSON(json.RawMessage(tt.a), json.RawMessage(tt.b), ignore)
		if err != nil {
			t.Errorf("%s and %s: %v", tt.a, tt.b, err)
		}
		var got []string
		for _, d := range found {
			got = append(got, d.Path)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s and %s (-want +got):\n%s", tt.a, tt.b, diff)
		}
	}
}

func FuzzJSONPath(f *testing.F) {
	for _, seed := range []string{"$.a[*].b", "$..x", "$['a b'][0]", "a.b", "..", "[", "$[*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := ParseJSONPath(path)
		if err != nil {
			return
		}
		value, _ := decodeJSON([]byte(`{"a":[{"b":1},{"b":{"x":2}}],"x":[[1,[2]]]}`))
		p.Find(value)
		p.Remove(value)
	})
}
