package catalog

import (
	"regexp"
	"strings"
	"sync"
)

const (
	// maxTemplate and maxExpressions bound what a server can make us match
	// against; a longer template matches nothing but itself.
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

// templatePattern is the expression that matches what a template expands to.
// It is nil for a template without expressions or over the limits. It is as
// lenient as servers are: they match [^/]+ where RFC 6570 knows escaped text
// only, and name variables as they like. A library that holds URIs to the RFC
// (yosida95/uritemplate) would miss some that a server reads, and with them a
// template that is switched off; it gives decoded values, too, where an alias
// has to be undone byte by byte.
func templatePattern(template string) *regexp.Regexp {
	if len(template) > maxTemplate {
		return nil
	}
	var b strings.Builder
	b.WriteString(`\A`)
	expressions := 0
	for _, p := range parseTemplate(template) {
		if !p.expression {
			b.WriteString(regexp.QuoteMeta(p.text))
			continue
		}
		expressions++
		b.WriteString("(" + expansion(p.text) + ")")
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

// expansion is what one expression of RFC 6570 may expand to.
func expansion(expression string) string {
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
	return `[^/?#]+`
}

// pattern is the expression of one template, made when it is first needed.
type pattern struct {
	once sync.Once
	expr *regexp.Regexp
}

// match returns what the expressions of the template stand for in uri; nil
// when it does not match.
func (p *pattern) match(template, uri string) []string {
	p.once.Do(func() { p.expr = templatePattern(template) })
	if p.expr == nil {
		return nil
	}
	m := p.expr.FindStringSubmatch(uri)
	if m == nil {
		return nil
	}
	return m[1:]
}

// literalLength says how specific a template is.
func literalLength(template string) int {
	n := 0
	for _, p := range parseTemplate(template) {
		if !p.expression {
			n += len(p.text)
		}
	}
	return n
}
