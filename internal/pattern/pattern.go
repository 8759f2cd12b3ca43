// Package pattern compiles the regular expressions of clients, models and
// servers, and refuses those that would cost too much before it compiles them.
package pattern

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// A Pattern is a compiled expression.
type Pattern struct {
	Text   string
	Regexp *regexp.Regexp // has one group more than Text, an empty one
	Steps  int            // of its program: the most that a byte of a text costs
	Size   int            // what it costs to compile, in steps; known even if it was not compiled
}

// What parts of an expression cost to parse, in steps.
const (
	perUnicodeClass = 130   // \pL is 1,300 runes
	perFoldedRange  = 2_000 // each rune of the range is looked up
)

var (
	ignoresCase  = lazy.Regexp(`\(\?[A-Za-z-]*i`)
	beyondASCII  = lazy.Regexp(`[^\x00-\x7f]|\\[x0-7]`)
	unicodeClass = lazy.Regexp(`\\[pP]`)
)

// Compile compiles an RE2 expression whose Size is at most most.
func Compile(expr string, most int) (Pattern, error) {
	p := Pattern{Text: expr, Size: len(expr)}
	if p.Size <= most {
		p.Size += perUnicodeClass * len(unicodeClass().FindAllStringIndex(expr, -1))
		if ignoresCase().MatchString(expr) && beyondASCII().MatchString(expr) {
			p.Size += perFoldedRange * strings.Count(expr, "-")
		}
	}
	if p.Size > most {
		return p, tooLarge()
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return p, err
	}
	p.Steps = 2 + steps(tree, most)
	if p.Size += p.Steps; p.Size > most {
		return p, tooLarge()
	}
	// For an expression that begins with ^ a second program may be made, which
	// takes time and memory by the cube of the first. A group before it prevents
	// that.
	p.Regexp, err = regexp.Compile("()" + expr)
	return p, err
}

func tooLarge() error {
	return i18n.Errorf("the pattern is too large: repeat less, or write a shorter one", "正则表达式过大：请减少重复次数，或写得更短")
}

// steps returns at least the number of instructions of an expression, in which
// repetitions are expanded. It stops counting beyond most.
func steps(re *syntax.Regexp, most int) int {
	n := 1
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCapture, syntax.OpStar:
		n = 2
	case syntax.OpAlternate:
		n = len(re.Sub)
	case syntax.OpRepeat:
		n = 0
	}
	for _, sub := range re.Sub {
		if n += steps(sub, most); n > most {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n = n*max(re.Min, re.Max, 1) + max(1, re.Max-re.Min)
	}
	return n
}
