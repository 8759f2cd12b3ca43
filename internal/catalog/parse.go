package catalog

import (
	"bytes"
	"log/slog"
	"slices"
	"unsafe"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/jsonschema"
)

// Issue is a defect in a server's list.
type Issue struct {
	// Item is the name or URI of the item; empty if it has none.
	Item string
	// Detail describes the defect.
	Detail i18n.Text
	// Withheld reports that the item is not listed. Otherwise it is listed,
	// repaired or unchanged.
	Withheld bool
}

// maxItems limits each list of one server.
const maxItems = 100_000

// ParseTools reads the raw tools/list results of one server, one result per
// page. Invalid items are withheld and reported; the rest is kept.
func ParseTools(pages [][]byte) ([]Item, []Issue) { return parse(Tools, pages) }

// ParsePrompts reads the raw prompts/list results of one server.
func ParsePrompts(pages [][]byte) ([]Item, []Issue) { return parse(Prompts, pages) }

// ParseResources reads the raw resources/list results of one server.
func ParseResources(pages [][]byte) ([]Item, []Issue) { return parse(Resources, pages) }

// ParseTemplates reads the raw resources/templates/list results of one server.
func ParseTemplates(pages [][]byte) ([]Item, []Issue) { return parse(Templates, pages) }

type parser struct {
	kind   Kind
	items  []Item
	issues []Issue
	seen   map[string]bool
}

func parse(k Kind, pages [][]byte) ([]Item, []Issue) {
	p := parser{kind: k, seen: make(map[string]bool)}
	for _, page := range pages {
		p.page(page)
	}
	return slices.Clone(p.items), p.issues
}

func (p *parser) page(page []byte) {
	list := jsonrpc.Get(page, p.kind.Member())
	if len(list) == 0 || list[0] != '[' {
		p.report("", true, "a page has no list %q", "某一页没有列表 %q", p.kind.Member())
		return
	}
	// Items are spans of this copy, because the buffer of the page may be
	// reused.
	for raw := range jsonrpc.Elements(bytes.Clone(list)) {
		if len(p.items) == maxItems {
			p.report("", true, "more than %d items; the rest is left out", "超过 %d 项；其余已略去", maxItems)
			return
		}
		p.item(raw)
	}
}

func (p *parser) report(item string, withheld bool, en, zh string, args ...any) {
	p.issues = append(p.issues, Issue{Item: item, Withheld: withheld, Detail: i18n.New(en, zh, args...)})
}

func (p *parser) item(raw []byte) {
	key, _ := jsonrpc.GetString(raw, p.kind.key())
	if !jsonrpc.Valid(raw) || raw[0] != '{' {
		p.report(key, true, "it is not a JSON object", "它不是 JSON 对象")
		return
	}
	if member, twice := duplicateMember(raw); twice {
		p.report(key, true, "it has %q twice", "它的 %q 出现了两次", member)
		return
	}
	if bytes.IndexByte(raw, '\n') >= 0 || bytes.IndexByte(raw, '\r') >= 0 {
		raw = jsonrpc.Compact(nil, raw)
	}
	m := mender{}
	raw = m.item(p.kind, raw)
	if !m.fatal.Empty() {
		p.report(key, true, "%v", "%v", m.fatal)
		return
	}
	if p.seen[key] {
		p.report(key, true, "another item has the same %s", "另一项有相同的 %s", p.kind.key())
		return
	}
	p.seen[key] = true
	for _, note := range m.notes {
		p.report(key, false, "%v", "%v", note)
	}
	item := newItem(p.kind, raw)
	for _, text := range [...]string{item.Name, item.Title, item.Description} {
		if i18n.HasHidden(text) {
			p.report(key, false, "it has control, bidirectional or tag characters; they are removed where it is listed", "它含有控制、双向或标签字符；列出时会删除")
			break
		}
	}
	if bytes.Contains(item.InputSchema, []byte("$ref")) && bytes.Contains(item.InputSchema, []byte("://")) {
		if err := jsonschema.Check(item.InputSchema); err != nil {
			p.report(key, false, "its arguments cannot be validated: %v", "无法校验它的参数：%v", err)
		}
	}
	p.items = append(p.items, item)
}

func newItem(k Kind, raw []byte) Item {
	it := Item{Raw: raw, rules: &jsonschema.Schema{}}
	for name, value := range jsonrpc.Members(raw) {
		switch name {
		case "title":
			it.Title = shared(value)
		case "description":
			it.Description = shared(value)
		case "inputSchema":
			it.InputSchema = value
		case "outputSchema":
			it.OutputSchema = value
		case "annotations":
			it.Annotations = value
			it.readOnly = string(jsonrpc.Get(value, "readOnlyHint")) == "true"
		case "execution":
			support, _ := jsonrpc.GetString(value, "taskSupport")
			it.NeedsTask = support == "required"
		}
		if name == "name" {
			it.Name = shared(value)
		}
		if name == k.key() {
			it.Key = shared(value)
		}
	}
	for name := range jsonrpc.Elements(jsonrpc.Get(it.InputSchema, "required")) {
		it.Required = append(it.Required, shared(name))
	}
	return it
}

// text returns the text of a raw JSON string.
func text(raw []byte) string {
	s, _ := jsonrpc.GetString(raw)
	return s
}

// shared returns the text of a raw JSON string of an item. Without escapes the
// text shares the item's memory: descriptions are most of the size of a
// catalogue.
func shared(raw []byte) string {
	if len(raw) < 3 || bytes.IndexByte(raw, '\\') >= 0 {
		return text(raw)
	}
	return unsafe.String(&raw[1], len(raw)-2)
}

// duplicateMember finds a name that occurs twice in an object. Such an item is
// ambiguous: an edit of the first member hides the last.
func duplicateMember(obj []byte) (string, bool) {
	var small [16]string
	names := small[:0]
	var many map[string]bool
	for name := range jsonrpc.Members(obj) {
		if many == nil && len(names) == cap(names) {
			many = make(map[string]bool)
			for _, n := range names {
				many[n] = true
			}
		}
		if many != nil {
			if many[name] {
				return name, true
			}
			many[name] = true
			continue
		}
		if slices.Contains(names, name) {
			return name, true
		}
		names = append(names, name)
	}
	return "", false
}

// LogValue returns the issue for a log that is read on a terminal.
func (i Issue) LogValue() slog.Value {
	return slog.GroupValue(slog.String("item", i18n.Reveal(i.Item)), slog.String("detail", i18n.Reveal(i.Detail.String())), slog.Bool("withheld", i.Withheld))
}
