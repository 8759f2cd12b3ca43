package lazy

import "testing"

func TestRegexp(t *testing.T) {
	word := Regexp(`^\w+$`)
	if first := word(); !first.MatchString("word") || word() != first {
		t.Error("an expression is compiled more than once, or does not match")
	}
	defer func() {
		if recover() == nil {
			t.Error("a test does not find an expression that does not parse")
		}
	}()
	Regexp(`(`)
}
