package pattern

import (
	"fmt"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"
)

// TestCost compiles expressions whose parts are few and whose programs, or the
// work to make them, are large.
func TestCost(t *testing.T) {
	var signs strings.Builder
	for r := '\u2190'; r < '\u2190'+450; r++ {
		fmt.Fprintf(&signs, "%c?", r)
	}
	for name, expr := range map[string]string{
		"repeated":          strings.Repeat("(abcdefghijklmnopqrst){1,999}", 140),
		"repeated nothing":  strings.Repeat("(){999}", 500),
		"nested":            "((((a{10}){10}){10})?){0,1}" + strings.Repeat("(b{1000})", 400),
		"optional":          strings.Repeat("(a?b?c?d?e?){0,999}", 200),
		"alternatives":      strings.Repeat("(|){999}", 500),
		"letters":           strings.Repeat(`\pL`, 1300),
		"a class":           "[" + strings.Repeat(`\pL`, 1300) + "]",
		"not an expression": strings.Repeat(`\PN`, 1300) + "(?=",
		"one way":           "^" + signs.String() + `\pL$`,
		"any case":          "(?i)" + strings.Repeat("[B-\U0001e942]", 400),
		"any case, once":    "(?i)[" + strings.Repeat("B-\U0001e942", 600) + "]",
		"any case, later":   "a(?s-U:b(?mi:" + strings.Repeat(`[\x42-\x{1e942}]`, 300) + "))",
		"any case, octal":   "(?i)" + strings.Repeat(`[\102-\x{1e942}]`, 300),
		"long":              strings.Repeat("a", 1<<20),
	} {
		t.Run("door/13 "+name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := Compile(expr, 20_000)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 20<<20 { // with the race detector too
				t.Errorf("%d bytes took %d bytes of memory", len(expr), n)
			}
			if cheap := name == "one way"; cheap != (err == nil) {
				t.Errorf("size %d: %v", p.Size, err)
			}
		})
	}
}

// TestSize compares what is foreseen with what is compiled.
func TestSize(t *testing.T) {
	for _, expr := range []string{
		"", "a", "abc", "^[a-z0-9_-]{1,64}$", "(a|b|cd)*", "(?:a*)*", "(a{2,5}){3}", "a{3,}", "a{0,7}", "a{0}", "(a?b?){99}", `(\b){9}`, "(|){9}",
		"abc|abd|x", `^\p{L}{1,64}$`, "(?i)kelvin", ".*?(x+)+", `\Qa.b`, "(?s).{1,100}", "((a{10}){10}){9}",
	} {
		p, err := Compile(expr, 20_000)
		if err != nil {
			t.Fatal(err)
		}
		tree, _ := syntax.Parse(expr, syntax.Perl)
		program, _ := syntax.Compile(tree.Simplify())
		if n := len(program.Inst); p.Steps < n || p.Steps > 2*n+3 || p.Size < p.Steps {
			t.Errorf("%q has %d steps and size %d, and %d instructions", expr, p.Steps, p.Size, n)
		}
		if p.Text != expr {
			t.Errorf("%q became %q", expr, p.Text)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		expr, text string
		want       bool
	}{
		{"^a|b$", "xb", true}, {"^a|b$", "bx", false}, {"(?i)a|b", "B", true}, {"^abc$", "abc", true}, {"^abc$", "abcd", false}, {"b", "abc", true}, {"", "", true},
		{"(?i)^straße$", "STRAßE", true}, {"(?i)[а-я]+", "ПРИВЕТ", true}, {`\Q(a`, "x(a", true}, {`^\p{L}+$`, "中文", true},
	} {
		if p, err := Compile(tt.expr, 20_000); err != nil || p.Regexp.MatchString(tt.text) != tt.want {
			t.Errorf("%q matches %q: %v, %v", tt.expr, tt.text, !tt.want, err)
		}
	}
	if _, err := Compile("(a", 20_000); err == nil || !strings.Contains(err.Error(), "missing closing") {
		t.Errorf("half an expression: %v", err)
	}
	if p, err := Compile("ab", 20_000); err != nil {
		t.Error(err)
	} else if text, all := p.Regexp.LiteralPrefix(); text != "ab" || !all {
		t.Errorf("the literal is %q, %v", text, all)
	}
}
