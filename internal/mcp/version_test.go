package mcp

import (
	"slices"
	"testing"
)

func TestNegotiate(t *testing.T) {
	for proposed, want := range map[string]string{
		V2024_11_05: V2024_11_05, V2025_06_18: V2025_06_18, V2025_11_25: V2025_11_25,
		"2024-10-07": "2024-10-07", V2026_07_28: LatestLegacy, "2031-01-01": LatestLegacy, "latest": LatestLegacy, "": LatestLegacy,
	} {
		got, err := Negotiate(proposed)
		if err != nil || got != want {
			t.Errorf("Negotiate(%q) = %q, %v; want %q", proposed, got, err, want)
		}
	}
	t.Run("req/S001-54", func(t *testing.T) {
		_, err := Negotiate("2020-01-01")
		if err == nil || err.Code != CodeVersionRefused || err.Message != "Unsupported protocol version: 2020-01-01" {
			t.Errorf("Negotiate(2020-01-01) = %v", err)
		}
	})
}

func TestVersions(t *testing.T) {
	all := AllVersions()
	if !slices.IsSortedFunc(all, func(a, b string) int { return -1 * compare(a, b) }) || len(all) != 5 {
		t.Errorf("AllVersions() = %v", all)
	}
	if Rules("").Date != V2024_11_05 || Rules(V2026_07_28).Era != Modern {
		t.Error("Rules picks the wrong row")
	}
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestOffer(t *testing.T) {
	everything := `{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}`
	if got := string(Everything.JSON(Rules(V2025_11_25), true)); got != everything {
		t.Errorf("everything at 2025-11-25 is %s", got)
	}
	if got := string(Everything.JSON(Rules(V2024_11_05), false)); got != `{"roots":{},"sampling":{}}` {
		t.Errorf("everything at 2024-11-05 is %s", got)
	}
	for caps, want := range map[string]Offer{
		`{}`:                         {},
		`{"elicitation":{}}`:         {Elicit: true},
		`{"elicitation":{"url":{}}}`: {ElicitURL: true},
		`{"roots":true}`:             {},
		`{"sampling":{"tools":{}}}`:  {Sampling: true, SampleTools: true},
	} {
		if got := ParseOffer([]byte(caps)); got.Key() != want.Key() {
			t.Errorf("ParseOffer(%s) = %+v", caps, got)
		}
	}
	form, url := []byte(`{"message":"x"}`), []byte(`{"mode":"url","url":"https://a"}`)
	offer := Offer{Elicit: true}
	if !offer.Allows(MethodElicit, form) || offer.Allows(MethodElicit, url) || offer.Allows(MethodSampling, nil) || !offer.Allows(MethodPing, nil) {
		t.Error("an offer of forms allows something else")
	}
}

func TestLevels(t *testing.T) {
	if l, ok := ParseLevel("warn"); !ok || l != "warning" {
		t.Errorf("warn is %q", l)
	}
	if _, ok := ParseLevel("loud"); ok {
		t.Error("loud is no level")
	}
	if !LevelAtLeast("error", "info") || LevelAtLeast("debug", "info") || !LevelAtLeast("made-up", "error") {
		t.Error("levels are out of order")
	}
}

func TestHeaders(t *testing.T) {
	args := []byte(`{"a":"é","b":{"c":12},"d":null,"e":[1],"f":true}`)
	for _, c := range []struct {
		path []string
		want string
		ok   bool
	}{{[]string{"a"}, "é", true}, {[]string{"b", "c"}, "12", true}, {[]string{"d"}, "", false}, {[]string{"e"}, "", false}, {[]string{"f"}, "true", true}, {[]string{"x"}, "", false}} {
		if got, ok := HeaderText(args, c.path...); got != c.want || ok != c.ok {
			t.Errorf("HeaderText(%v) = %q, %v", c.path, got, ok)
		}
	}
}

func TestIsModern(t *testing.T) {
	for v, want := range map[string]bool{
		"2026-07-28": true, "2027-01-01": true, "2025-11-25": false, "": false, "9": false, "zzzz-zz-zz": false, "2026-07-28 ": false, "2026x07x28": false,
	} {
		if got := IsModern(v); got != want {
			t.Errorf("%q: %v", v, got)
		}
	}
}
