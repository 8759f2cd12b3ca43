package jsonschema

import (
	"encoding/json"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

func (e *evaluation) object(p *part, v map[string]any, where *at, own *seen, tell bool) bool {
	ok := e.presence(p, v, where, tell)
	for name, value := range v {
		inside := &at{where, name}
		if p.names != nil {
			ok = e.check(p.names, name, inside, nil, tell) && ok
		}
		judged := p.anyName
		if sub := p.properties[name]; sub != nil {
			judged = true
			ok = e.check(sub, value, inside, nil, tell) && ok
		}
		for _, pp := range p.patternProperties {
			if e.matches(pp.pattern, name) {
				judged = true
				ok = e.check(pp.part, value, inside, nil, tell) && ok
			}
		}
		if !judged && p.additional != nil {
			judged = true
			ok = e.extra(p.additional, p, value, inside, tell) && ok
		}
		if judged {
			own.name(name)
		}
	}
	for name, sub := range p.dependentSchemas {
		if _, there := v[name]; there {
			ok = e.check(sub, v, where, own, tell) && ok
		}
	}
	if p.unevaluatedProperties == nil || own.allNames {
		return ok
	}
	for name, value := range v {
		if !own.names[name] {
			ok = e.extra(p.unevaluatedProperties, p, value, &at{where, name}, tell) && ok
		}
	}
	own.allNames = true
	return ok
}

// extra checks a member that properties does not name. If no extra members are
// allowed, the violation lists the known ones.
func (e *evaluation) extra(sub, p *part, value any, where *at, tell bool) bool {
	if tell && sub.verdict != nil && !*sub.verdict {
		e.unknown(p, where)
		return false
	}
	return e.check(sub, value, where, nil, tell)
}

func (e *evaluation) presence(p *part, v map[string]any, where *at, tell bool) bool {
	ok := true
	for _, name := range p.required {
		if _, there := v[name]; !there {
			ok = false
			if tell {
				e.missing(&at{where, name})
			}
		}
	}
	for name, needs := range p.dependentRequired {
		if _, there := v[name]; !there {
			continue
		}
		for _, need := range needs {
			if _, there := v[need]; !there {
				ok = false
				if tell {
					e.missing(&at{where, need})
				}
			}
		}
	}
	return ok
}

func (e *evaluation) array(p *part, v []any, where *at, own *seen, tell bool) bool {
	ok := true
	for i, value := range v {
		if i >= len(p.prefix) && p.items == nil {
			break
		}
		sub := p.items
		if i < len(p.prefix) {
			sub = p.prefix[i]
		}
		ok = e.check(sub, value, &at{where, strconv.Itoa(i)}, nil, tell) && ok
	}
	if own != nil {
		own.upTo = max(own.upTo, min(len(p.prefix), len(v)))
		own.allItems = own.allItems || p.items != nil
	}
	if p.contains != nil {
		n := 0
		for i, value := range v {
			if e.check(p.contains, value, &at{where, strconv.Itoa(i)}, nil, false) {
				n++
				if !e.doc.draft7 {
					own.item(i)
				}
			}
		}
		if n < p.minContains || p.maxContains >= 0 && n > p.maxContains {
			e.tell(tell, where, i18n.New("another number of items of a kind", "另一数量的此类项"), i18n.Plain(strconv.Itoa(n)))
			ok = false
		}
	}
	if p.unevaluatedItems == nil || own.allItems {
		return ok
	}
	for i := own.upTo; i < len(v); i++ {
		if !own.items[i] {
			ok = e.check(p.unevaluatedItems, v[i], &at{where, strconv.Itoa(i)}, nil, tell) && ok
		}
	}
	own.allItems = true
	return ok
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if decimalOf(v).whole() {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func isType(v any, t string) bool {
	is := typeOf(v)
	return is == t || is == "integer" && t == "number"
}

func typesText(types []string) i18n.Text {
	return i18n.Pair(strings.Join(types, " or "), strings.Join(types, " 或 "))
}

func (l limit) fits(n decimal) bool {
	c := n.compare(l.bound)
	switch l.keyword {
	case "minimum":
		return c >= 0
	case "maximum":
		return c <= 0
	case "exclusiveMinimum":
		return c > 0
	case "exclusiveMaximum":
		return c < 0
	case "multipleOf":
		return n.multipleOf(l.bound)
	}
	return true
}

// text describes the accepted values.
func (l limit) text() i18n.Text {
	bound := l.written
	switch l.keyword {
	case "minimum":
		return i18n.New("at least %s", "不小于 %s 的值", bound)
	case "maximum":
		return i18n.New("at most %s", "不大于 %s 的值", bound)
	case "exclusiveMinimum":
		return i18n.New("more than %s", "大于 %s 的值", bound)
	case "exclusiveMaximum":
		return i18n.New("less than %s", "小于 %s 的值", bound)
	}
	return i18n.New("a multiple of %s", "%s 的倍数", bound)
}
