package probe

import (
	"encoding/json"
	"strings"
	"testing"

	"mcp-all-in-one/internal/jsonrpc"

	"github.com/google/go-cmp/cmp"
)

func TestPlaces(t *testing.T) {
	const doc = `{"items":[{"id":1,"at":"x"},{"id":2,"at":"y"}],"odd name":{"at":"z"},"n":null,"type":"t"}`
	for path, want := range map[string]string{
		".items[].id": `[1,2]`, "items[1].at": `["y"]`, "..|.at?": `["x","y","z"]`, `.["odd name"].at`: `["z"]`, ".none": `null`, ".n": `[null]`,
		".items[7]": `null`, ".none[].x": `null`, "type": `["t"]`, ".items[] | select(.id == 2)": `[{"at":"y","id":2}]`, ".items[0]": `[{"at":"x","id":1}]`,
	} {
		p, err := ParsePlaces(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		value, _ := jsonrpc.Decode([]byte(doc))
		if got := string(Encode(p.Find(value))); got != want {
			t.Errorf("%s found %s, want %s", path, got, want)
		}
	}
	for _, bad := range []string{".a[", ".a[x]", ".a + 1", "1", "a b", ".a)|(.b"} {
		if _, err := ParsePlaces(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestPlacesRemove(t *testing.T) {
	for path, want := range map[string]string{
		".items[].at": `{"items":[{"id":1},{"id":2}],"n":{"at":3}}`, "..|.at?": `{"items":[{"id":1},{"id":2}],"n":{}}`,
		".items[0]": `{"items":[null,{"at":"y","id":2}],"n":{"at":3}}`, ".": `null`, ".none.x": `{"items":[{"at":"x","id":1},{"at":"y","id":2}],"n":{"at":3}}`,
		"..": `null`,
	} {
		p, err := ParsePlaces(path)
		if err != nil {
			t.Fatal(err)
		}
		value, _ := jsonrpc.Decode([]byte(`{"items":[{"id":1,"at":"x"},{"id":2,"at":"y"}],"n":{"at":3}}`))
		if got := string(Encode(p.Remove(value))); got != want {
			t.Errorf("without %s: %s, want %s", path, got, want)
		}
	}
}

// TestJSONPath translates JSONPath to jq.
func TestJSONPath(t *testing.T) {
	for old, want := range map[string]string{
		"$.items[*].id": ".items[].id", "$..at": "..|.at?", "$['odd name'].at": `.["odd name"].at`, "$": ".", "$[0]": ".[0]", "$.*": ".[]",
	} {
		_, err := ParsePlaces(old)
		if err == nil || !strings.HasSuffix(err.Error(), "write "+want) {
			t.Errorf("%s: %v", old, err)
		}
		if _, err := ParsePlaces(want); err != nil {
			t.Error(err)
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
		{a: `{"a":12345678901234567890}`, b: `{"a":12345678901234567891}`, want: []string{".a"}},
		{a: `{"a":1,"b":[1,2]}`, b: `{"b":[1,3,4],"c":null}`, want: []string{".a", ".b[1]", ".b[2]", ".c"}},
		{a: `{"a":{"t":1,"k":2}}`, b: `{"a":{"t":5,"k":2}}`, ignore: "..|.t?"},
		{a: `{"a":[1]}`, b: `{"a":{"0":1}}`, want: []string{".a"}},
		{a: `{"a b":[1]}`, b: `{"a b":[2]}`, want: []string{`.["a b"][0]`}},
		{a: `[1]`, b: `[2]`, want: []string{".[0]"}},
		{a: `null`, b: ``},
		{a: `"x"`, b: `"y"`, want: []string{"."}},
	} {
		var ignore []Places
		if tt.ignore != "" {
			p, err := ParsePlaces(tt.ignore)
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
