package seal

import (
	"strings"
	"testing"
)

func ring(t *testing.T, name string, secrets ...string) *Ring {
	t.Helper()
	r, err := NewRing(name, secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOpen checks that replicas with the same secret open each other's texts, and
// that others do not.
func TestOpen(t *testing.T) {
	old, fresh := NewSecret(), NewSecret()
	text := ring(t, "team", old).Box(Session).Seal([]byte("hello"))
	for name, tt := range map[string]struct {
		box   *Box
		opens bool
	}{
		"the same secret":          {ring(t, "team", old).Box(Session), true},
		"rotation, new one second": {ring(t, "team", old, fresh).Box(Session), true},
		"rotation, new one first":  {ring(t, "team", fresh, old).Box(Session), true},
		"old one dropped":          {ring(t, "team", fresh).Box(Session), false},
		"another use":              {ring(t, "team", old).Box(Handle), false},
		"another cluster":          {ring(t, "other", old).Box(Session), false},
		"no cluster":               {Random().Box(Session), false},
	} {
		t.Run("cluster/seal/"+name, func(t *testing.T) {
			plain, ok := tt.box.Open(text)
			if ok != tt.opens || ok && string(plain) != "hello" {
				t.Errorf("opened %q, %v, want %v", plain, ok, tt.opens)
			}
		})
	}
	for name, want := range map[string]bool{"old": true, "old fresh": true, "fresh old": false} {
		var secrets []string
		for word := range strings.FieldsSeq(name) {
			secrets = append(secrets, map[string]string{"old": old, "fresh": fresh}[word])
		}
		if got := ring(t, "team", secrets...).Box(Session).Current(text); got != want {
			t.Errorf("cluster/seal/current: %v with the secrets %s", got, name)
		}
	}
	if Random().Box(Session).Current("") {
		t.Error("cluster/seal/current: no text at all")
	}
	if again := ring(t, "team", old).Box(Session).Seal([]byte("hello")); again == text {
		t.Error("the same text is sealed the same way twice")
	}
}

// TestNames checks that a text sealed with one name does not open with another.
func TestNames(t *testing.T) {
	b := ring(t, "team", NewSecret()).Box(Record)
	text := b.SealAs("member/a", []byte("hello"))
	for name, opens := range map[string]bool{"member/a": true, "member/b": false, "": false} {
		if plain, ok := b.OpenAs(name, text); ok != opens || ok && string(plain) != "hello" {
			t.Errorf("cluster/seal/name: opened as %q: %q, %v", name, plain, ok)
		}
	}
	if _, ok := b.OpenAs("member/a", b.Seal([]byte("hello"))); ok {
		t.Error("cluster/seal/name: what has no name opens under one")
	}
}

// TestTampered checks that a text with one changed character, or a truncated text,
// is refused.
func TestTampered(t *testing.T) {
	b := ring(t, "team", NewSecret(), NewSecret()).Box(Handle)
	text := b.Seal([]byte("hello"))
	for i := range text {
		for _, c := range []string{"A", "B", "-", "=", "\x00", "\n" + text[i:i+1], ""} {
			other := text[:i] + c + text[i+1:]
			if _, ok := b.Open(other); ok && other != text {
				t.Errorf("fault/T51: opened %q, which was %q", other, text)
			}
		}
		if _, ok := b.Open(text[:i]); ok {
			t.Errorf("fault/T51: opened the first %d characters", i)
		}
	}
	if _, ok := b.Open(text + "AA"); ok {
		t.Error("fault/T51: opened a longer text")
	}
}

func TestShortSecret(t *testing.T) {
	if _, err := NewRing("team", NewSecret(), strings.Repeat("x", LeastSecret-1)); err == nil {
		t.Error("a secret of 31 bytes is taken")
	}
	if _, err := NewRing("team"); err == nil {
		t.Error("no secret is taken")
	}
}

func FuzzOpen(f *testing.F) {
	b := Random().Box(Session)
	f.Add(b.Seal(nil))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if plain, ok := b.Open(text); ok && len(plain) > 0 {
			t.Errorf("opened %q", text)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	box := Random().Box(Session)
	text := box.Seal(make([]byte, 300))
	for b.Loop() {
		box.Open(text)
	}
}
