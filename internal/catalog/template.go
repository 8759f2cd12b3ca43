package catalog

import (
	"regexp"
	"strings"
	"sync"
)

const (
	// maxTemplate and maxExpressions limit the cost of a server's templates; a
	// longer template matches only itself.
	maxTemplate    = 4096
	maxExpressions = 32
)

// templatePart is a literal or one {expression} of a URI template.
type templatePart struct {
	text       string
	expression bool
}

// parseTemplate splits a URI template (RFC 6570). An unclosed brace is a
// literal.
func parseTemplate(template string) []templatePart {
	var parts []templatePart
	for template != "" {
		open := strings.IndexByte(template, '{')
		end := -1
		if open >= 0 {
			end = strings.IndexByte(template[open:], '}')
		}
		if end < 0 {
			return append(parts, templatePart{text: template})
		}
		if open > 0 {
			parts = append(parts, templatePart{text: template[:open]})
		}
		parts = append(parts, templatePart{text: template[open : open+end+1], expression: true})
		template = template[open+end+1:]
	}
	return parts
}

// templatePattern returns the expression that matches the expansions of a
// template. It is nil for a template without expressions or over the limits. It
// is as lenient as servers, which match [^/]+ where RFC 6570 allows escaped
// text only, and use any variable names. A library that follows the RFC
// (yosida95/uritemplate) would miss some URIs that a server accepts, and so
// bypass a template that is switched off. It also returns decoded values, but
// an alias has to be reversed byte by byte.
func templatePattern(template string, in reading) *regexp.Regexp {
	if len(template) > maxTemplate {
		return nil
	}
	var b strings.Builder
	b.WriteString(`\A`)
	expressions := 0
	for _, p := range parseTemplate(template) {
		if !p.expression {
			if in != asWritten {
				p.text = decoded(p.text)
			}
			b.WriteString(regexp.QuoteMeta(p.text))
			continue
		}
		expressions++
		b.WriteString("(" + expansion(p.text, in) + ")")
	}
	b.WriteString(`\z`)
	if expressions == 0 || expressions > maxExpressions {
		return nil
	}
	expr, err := regexp.Compile(b.String())
	if err != nil {
		return nil
	}
	return expr
}

// expansion returns the expression for the expansions of one RFC 6570
// expression.
func expansion(expression string, in reading) string {
	switch strings.TrimPrefix(expression, "{")[0] {
	case '+':
		return `(?s:.+)`
	case '#':
		return `(?s:#.*)?`
	case '.':
		return `(?:\.[^/?#]*)*`
	case '/':
		return `(?:/[^/?#]*)*`
	case ';':
		return `(?:;[^/?#]*)*`
	case '?':
		return `(?:\?[^#]*)?`
	case '&':
		return `(?:&[^#]*)*`
	}
	if in == withSlashes {
		return `(?s:.+)`
	}
	return `[^/?#]+`
}

// A reading is the form of the URIs that a template is compared with.
type reading uint8

const (
	asWritten reading = iota
	asDecoded
	// withSlashes is asDecoded with values that had escaped slashes.
	withSlashes
)

// pattern is the compiled expression of one template, built on first use.
type pattern struct {
	in   reading
	once sync.Once
	expr *regexp.Regexp
}

// match returns the values of the template's expressions in uri; nil if uri
// does not match.
func (p *pattern) match(template, uri string) []string {
	p.once.Do(func() { p.expr = templatePattern(template, p.in) })
	if p.expr == nil {
		return nil
	}
	m := p.expr.FindStringSubmatch(uri)
	if m == nil {
		return nil
	}
	return m[1:]
}

// literalLength measures how specific a template is.
func literalLength(template string) int {
	n := 0
	for _, p := range parseTemplate(template) {
		if !p.expression {
			n += len(p.text)
		}
	}
	return n
}
