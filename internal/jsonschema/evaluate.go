package jsonschema

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"mcp-all-in-one/internal/i18n"
)

// evaluation validates one value against a document.
type evaluation struct {
	doc   *document
	steps int
	work  int
	depth int
	// spent reports that the budget is used up: from then on nothing is
	// refused.
	spent bool
	scope []*resource // the resources entered, outermost first
	found []Violation
	text  []byte // canonical text of the compared value
}

// seen records which members of a value were evaluated by some part of a
// schema.
type seen struct {
	names    map[string]bool
	allNames bool
	upTo     int // items before this index
	items    map[int]bool
	allItems bool
}

func (s *seen) name(name string) {
	if s != nil {
		if s.names == nil {
			s.names = make(map[string]bool)
		}
		s.names[name] = true
	}
}

func (s *seen) item(i int) {
	if s != nil {
		if s.items == nil {
			s.items = make(map[int]bool)
		}
		s.items[i] = true
	}
}

func (s *seen) add(o *seen) {
	if s == nil || o == nil {
		return
	}
	for name := range o.names {
		s.name(name)
	}
	for i := range o.items {
		s.item(i)
	}
	s.allNames = s.allNames || o.allNames
	s.allItems = s.allItems || o.allItems
	s.upTo = max(s.upTo, o.upTo)
}

// at is a location in the value, as a linked list from the innermost level.
type at struct {
	up    *at
	token string
}

func (a *at) tokens() []string {
	var all []string
	for ; a != nil; a = a.up {
		all = append(all, a.token)
	}
	slices.Reverse(all)
	return all
}

// check validates v against p. If v is valid, the evaluated members are added
// to judged. If tell is set, violations are recorded.
func (e *evaluation) check(p *part, v any, where *at, judged *seen, tell bool) bool {
	e.steps++
	if e.steps > maxSteps || e.depth > maxEvaluation {
		e.spent = true
	}
	if e.spent {
		return true
	}
	if p.verdict != nil {
		if !*p.verdict && tell {
			e.note(where, i18n.New("no value here", "此处没有值"), i18n.Text{})
		}
		return *p.verdict
	}
	e.depth++
	entered := len(e.scope) == 0 || e.scope[len(e.scope)-1] != p.resource
	if entered {
		e.scope = append(e.scope, p.resource)
	}
	var own *seen
	if e.doc.tracks {
		own = &seen{}
	}
	ok := e.references(p, v, where, own, tell)
	ok = e.assertions(p, v, where, tell) && ok
	ok = e.compositions(p, v, where, own, tell) && ok
	switch v := v.(type) {
	case map[string]any:
		ok = e.object(p, v, where, own, tell) && ok
	case []any:
		ok = e.array(p, v, where, own, tell) && ok
	}
	if entered {
		e.scope = e.scope[:len(e.scope)-1]
	}
	e.depth--
	if ok {
		judged.add(own)
	}
	return ok || e.spent
}

func (e *evaluation) references(p *part, v any, where *at, own *seen, tell bool) bool {
	ok := true
	if p.target != nil {
		ok = e.check(p.target, v, where, own, tell)
	}
	if p.bookend == nil {
		return ok
	}
	target := p.bookend
	if p.dynamicName != "" {
		for _, r := range e.scope {
			if outer := r.dynamic[p.dynamicName]; outer != nil {
				target = outer
				break
			}
		}
	}
	return e.check(target, v, where, own, tell) && ok
}

func (e *evaluation) compositions(p *part, v any, where *at, own *seen, tell bool) bool {
	ok := true
	for _, sub := range p.allOf {
		ok = e.check(sub, v, where, own, tell) && ok
	}
	if len(p.anyOf) > 0 && e.fitting(p.anyOf, v, where, own) == 0 {
		e.alternatives(p.anyOf, v, where, tell)
		ok = false
	}
	if len(p.oneOf) > 0 {
		switch n := e.fitting(p.oneOf, v, where, own); {
		case n == 0:
			e.alternatives(p.oneOf, v, where, tell)
			ok = false
		case n > 1:
			e.tell(tell, where, i18n.New("a value that matches exactly one of the allowed schemas", "恰好符合一个允许的 schema 的值"), i18n.New("one that matches %d of them", "符合其中 %d 个的值", n))
			ok = false
		}
	}
	if p.not != nil && e.check(p.not, v, where, nil, false) {
		if tell {
			e.note(where, i18n.New("a value that does not match the excluded schema", "不符合被排除的 schema 的值"), e.show(v))
		}
		ok = false
	}
	if p.condition != nil {
		branch := p.orElse
		if e.check(p.condition, v, where, own, false) {
			branch = p.then
		}
		if branch != nil {
			ok = e.check(branch, v, where, own, tell) && ok
		}
	}
	return ok
}

// fitting counts the parts that accept v. It tries all of them, because each
// may evaluate other members.
func (e *evaluation) fitting(parts []*part, v any, where *at, own *seen) int {
	n := 0
	for _, sub := range parts {
		if e.check(sub, v, where, own, false) {
			n++
		}
	}
	return n
}

func (e *evaluation) assertions(p *part, v any, where *at, tell bool) bool {
	if !e.spend(width(v)) {
		return true
	}
	if len(p.types) > 0 && !slices.ContainsFunc(p.types, func(t string) bool { return isType(v, t) }) {
		e.tell(tell, where, typesText(p.types), i18n.Plain(typeOf(v)))
		return false
	}
	ok := true
	if p.enum != nil && !e.among(p.enumKeys, v) {
		if tell {
			e.note(where, i18n.New("one of %s", "%s 之一", showAll(p.enum)), e.show(v))
		}
		ok = false
	}
	if p.hasConstant && !e.among(p.constantKey, v) {
		if tell {
			e.note(where, e.show(p.constant), e.show(v))
		}
		ok = false
	}
	switch v := v.(type) {
	case json.Number:
		return e.number(p, v, where, tell) && ok
	case string:
		ok = e.sizes(p, "Length", i18n.New("characters", "个字符"), utf8.RuneCountInString(v), where, tell) && ok
		if p.pattern != nil && !e.matches(p.pattern, v) {
			e.tell(tell, where, i18n.New("text that matches %s", "符合 %s 的文本", p.pattern.Text), e.show(v))
			ok = false
		}
	case []any:
		ok = e.sizes(p, "Items", i18n.New("items", "项"), len(v), where, tell) && ok
		if p.unique && !e.allDifferent(v) {
			e.tell(tell, where, i18n.New("items that are all different", "互不相同的项"), i18n.Text{})
			ok = false
		}
	case map[string]any:
		ok = e.sizes(p, "Properties", i18n.New("members", "个成员"), len(v), where, tell) && ok
	}
	return ok
}

func (e *evaluation) number(p *part, v json.Number, where *at, tell bool) bool {
	if len(p.limits) == 0 {
		return true
	}
	n := decimalOf(v)
	ok := true
	for _, l := range p.limits {
		if !l.fits(n) {
			e.tell(tell, where, l.text(), i18n.Plain(clip(string(v))))
			ok = false
		}
	}
	return ok
}

func (e *evaluation) sizes(p *part, suffix string, unit i18n.Text, n int, where *at, tell bool) bool {
	ok := true
	for _, s := range p.sizes {
		if s.keyword == "min"+suffix && n < s.bound {
			e.tell(tell, where, i18n.New("at least %d %v", "至少 %d %v", s.bound, unit), i18n.Plain(strconv.Itoa(n)))
			ok = false
		}
		if s.keyword == "max"+suffix && n > s.bound {
			e.tell(tell, where, i18n.New("at most %d %v", "至多 %d %v", s.bound, unit), i18n.Plain(strconv.Itoa(n)))
			ok = false
		}
	}
	return ok
}
