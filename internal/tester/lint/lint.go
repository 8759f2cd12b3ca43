// Package lint finds problems in the features of a server, and differences
// between the features of two servers.
package lint

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/lazy"
	"mcp-all-in-one/internal/probe"
)

// A Finding is a problem for clients or models.
type Finding struct {
	// Severity is error if clients refuse the item, otherwise warning.
	Severity  string `json:"severity"`
	Rule      string `json:"rule"`
	Kind      string `json:"kind"`
	Item      string `json:"item,omitempty"`
	Message   string `json:"message"`
	MessageZH string `json:"messageZH"`
}

func newFinding(severity, rule, kind, item string, message i18n.Text) Finding {
	f := Finding{Severity: severity, Rule: rule, Kind: kind, Item: item}
	f.Message, f.MessageZH = message.Both()
	return f
}

// toolRules are the rules for tools, one check each.
var toolRules = []struct {
	name, severity string
	check          func(it *catalog.Item) i18n.Text
}{
	{"tool-name-length", "error", func(it *catalog.Item) i18n.Text {
		return when(len(it.Name) > 64, "its name has %d characters; several clients refuse more than 64", "名称有 %d 个字符；不少客户端拒绝超过 64 个字符的名称", len(it.Name))
	}},
	{"tool-name-characters", "error", func(it *catalog.Item) i18n.Text {
		return when(!toolName().MatchString(it.Name), "its name has characters beyond letters, digits, _ and -; several clients refuse it", "名称含有字母、数字、_ 和 - 之外的字符；不少客户端会拒绝")
	}},
	{"tool-description", "warning", func(it *catalog.Item) i18n.Text {
		return when(strings.TrimSpace(it.Description) == "", "it has no description, so a model has to guess what it does", "没有描述，模型只能猜测它的用途")
	}},
	{"tool-description-length", "warning", func(it *catalog.Item) i18n.Text {
		return when(len(it.Description) > 4096, "its description has %d bytes; every conversation pays for that", "描述有 %d 字节；每次对话都要为此付出上下文", len(it.Description))
	}},
	{"tool-schema-type", "error", func(it *catalog.Item) i18n.Text {
		kind, _ := jsonrpc.GetString(it.InputSchema, "type")
		return when(kind != "object", "its input schema must have the type object", "输入 schema 的 type 必须是 object")
	}},
	{"tool-schema-top", "error", func(it *catalog.Item) i18n.Text {
		for _, key := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
			if jsonrpc.Get(it.InputSchema, key) != nil {
				return i18n.New("its input schema has %s at the top, which some models' APIs refuse", "输入 schema 的顶层有 %s，部分模型的 API 会拒绝", key)
			}
		}
		return i18n.Text{}
	}},
	{"tool-schema-usable", "error", func(it *catalog.Item) i18n.Text {
		if err := it.Unvalidated(); err != nil {
			return i18n.New("its input schema cannot be used: %v", "输入 schema 无法使用：%v", err)
		}
		return i18n.Text{}
	}},
	{"tool-schema-required", "error", requiredUnknown},
	{"tool-schema-names", "error", func(it *catalog.Item) i18n.Text {
		for _, f := range probe.Form(it.InputSchema) {
			if len(f.Name) > maxArgumentName || !argumentName().MatchString(f.Name) {
				return i18n.New("its argument %q has a name that some models' APIs refuse", "参数 %q 的名称会被部分模型的 API 拒绝", f.Name)
			}
		}
		return i18n.Text{}
	}},
	{"tool-argument-type", "warning", func(it *catalog.Item) i18n.Text {
		return arguments(it, "its arguments %s have no type", "参数 %s 没有 type", "its argument %s has no type", func(f probe.Field, _ []byte) bool { return f.Type == "" })
	}},
	{"tool-argument-description", "warning", func(it *catalog.Item) i18n.Text {
		return arguments(it, "its arguments %s have no description", "参数 %s 没有描述", "its argument %s has no description", func(f probe.Field, _ []byte) bool { return f.Description == "" })
	}},
	{"tool-schema-array", "error", func(it *catalog.Item) i18n.Text {
		return arguments(it, "its arguments %s are arrays without items, which some models' APIs refuse", "参数 %s 是没有 items 的数组，部分模型的 API 会拒绝", "its argument %s is an array without items, which some models' APIs refuse", func(f probe.Field, sub []byte) bool {
			return f.Type == "array" && jsonrpc.Get(sub, "items") == nil && jsonrpc.Get(sub, "prefixItems") == nil
		})
	}},
	{"tool-schema-default", "warning", wrongDefault},
	{"tool-annotations", "warning", func(it *catalog.Item) i18n.Text {
		both := it.ReadOnly() && string(jsonrpc.Get(it.Annotations, "destructiveHint")) == "true"
		return when(both, "it says that it only reads and that it destroys", "它同时声明只读与破坏性")
	}},
	{"tool-header", "error", func(it *catalog.Item) i18n.Text {
		if err := catalog.InvalidHeaders(it); err != nil {
			return i18n.New("%v; over HTTP clients must not use it", "%v；客户端不得通过 HTTP 使用它", err)
		}
		return i18n.Text{}
	}},
	{"tool-output-schema", "error", func(it *catalog.Item) i18n.Text {
		kind, _ := jsonrpc.GetString(it.OutputSchema, "type")
		return when(len(it.OutputSchema) > 0 && kind != "object", "its output schema must have the type object", "输出 schema 的 type 必须是 object")
	}},
}

// maxArgumentName is the maximum length that providers of models accept.
const maxArgumentName = 64

var (
	toolName     = lazy.Regexp(`^[a-zA-Z0-9_-]+$`)
	argumentName = lazy.Regexp(`^[a-zA-Z0-9_.-]+$`)
)

func when(wrong bool, en, zh string, args ...any) i18n.Text {
	if !wrong {
		return i18n.Text{}
	}
	return i18n.New(en, zh, args...)
}

func requiredUnknown(it *catalog.Item) i18n.Text {
	var names []string
	for _, f := range probe.Form(it.InputSchema) {
		names = append(names, f.Name)
	}
	for _, name := range it.Required {
		if !slices.Contains(names, name) {
			return i18n.New("it requires %q, which its properties do not have", "required 中的 %q 不在 properties 中", name)
		}
	}
	return i18n.Text{}
}

// arguments returns a text with the names of the arguments for which wrong is
// true; one is the English text for one argument.
func arguments(it *catalog.Item, many, zh, one string, wrong func(f probe.Field, schema []byte) bool) i18n.Text {
	var names []string
	for _, f := range probe.Form(it.InputSchema) {
		if wrong(f, probe.ResolveRef(it.InputSchema, jsonrpc.Get(it.InputSchema, "properties", f.Name))) {
			names = append(names, f.Name)
		}
	}
	en := many
	if len(names) == 1 {
		en = one
	}
	return when(len(names) > 0, en, zh, strings.Join(names, ", "))
}

func wrongDefault(it *catalog.Item) i18n.Text {
	for _, f := range probe.Form(it.InputSchema) {
		sub := probe.ResolveRef(it.InputSchema, jsonrpc.Get(it.InputSchema, "properties", f.Name))
		value := jsonrpc.Get(sub, "default")
		if value == nil || jsonrpc.Get(sub, "$ref") != nil {
			continue
		}
		wrapped := jsonrpc.Set([]byte(`{"type":"object"}`), sub, "properties", "value")
		if wrong, err := probe.CheckJSON(wrapped, jsonrpc.Set([]byte(`{}`), value, "value")); err == nil && len(wrong) > 0 {
			return i18n.New("the default of %q breaks its own schema: %v", "%q 的默认值不符合自己的 schema：%v", f.Name, wrong[0])
		}
	}
	return i18n.Text{}
}

// costly is the cost above which a list of tools gets a warning.
const costly = 10_000

// Lint checks all lists of a server.
func Lint(ctx context.Context, s *probe.Session) ([]Finding, error) {
	var found []Finding
	for _, k := range []catalog.Kind{catalog.Tools, catalog.Resources, catalog.Templates, catalog.Prompts} {
		if !s.Offers(k) {
			continue
		}
		l, err := s.List(ctx, k)
		if err != nil {
			return nil, err
		}
		for _, issue := range l.Issues {
			severity := "warning"
			if issue.Withheld {
				severity = "error"
			}
			found = append(found, newFinding(severity, "list", probe.KindWord(k), issue.Item, issue.Detail))
		}
		for i := range l.Items {
			found = append(found, lintItem(k, &l.Items[i])...)
		}
		if cost := listCost(l); k == catalog.Tools && cost > costly {
			found = append(found, newFinding("warning", "tools-cost", "tools", "",
				i18n.New("the list costs about %d tokens in every conversation", "该列表在每次对话中约占 %d 个 token", cost)))
		}
	}
	return found, nil
}

// LintFeatures checks features that are already loaded.
func LintFeatures(f *catalog.Features) []Finding {
	found := []Finding{}
	if f == nil {
		return found
	}
	for _, list := range []struct {
		kind  catalog.Kind
		items []catalog.Item
	}{{catalog.Tools, f.Tools}, {catalog.Resources, f.Resources}, {catalog.Templates, f.Templates}, {catalog.Prompts, f.Prompts}} {
		for i := range list.items {
			found = append(found, lintItem(list.kind, &list.items[i])...)
		}
	}
	return found
}

func listCost(l *probe.Listing) int {
	n := 0
	for _, raw := range l.Raw {
		n += catalog.CostOf(raw).Tokens
	}
	return n
}

func lintItem(k catalog.Kind, it *catalog.Item) []Finding {
	var found []Finding
	add := func(severity, rule string, message i18n.Text) {
		if !message.Empty() {
			found = append(found, newFinding(severity, rule, probe.KindWord(k), it.Key, message))
		}
	}
	switch k {
	case catalog.Tools:
		for _, r := range toolRules {
			add(r.severity, r.name, r.check(it))
		}
	case catalog.Prompts:
		add("warning", "prompt-description", when(it.Description == "", "it has no description", "没有描述"))
		for _, arg := range probe.PromptArguments(it.Raw) {
			add("warning", "prompt-argument-description", when(arg.Description == "", "its argument %q has no description", "参数 %q 没有描述", arg.Name))
		}
	case catalog.Resources:
		u, err := url.Parse(it.Key)
		add("error", "resource-uri", when(err != nil || u.Scheme == "", "its URI is not absolute", "URI 不是绝对的"))
		mime, _ := jsonrpc.GetString(it.Raw, "mimeType")
		add("warning", "resource-mime", when(mime == "", "it has no mimeType", "没有 mimeType"))
	case catalog.Templates:
		add("error", "template-braces", when(strings.Count(it.Key, "{") != strings.Count(it.Key, "}"), "a brace is not closed", "花括号没有闭合"))
		add("warning", "template-description", when(it.Description == "", "it has no description", "没有描述"))
	}
	return found
}
