package probe

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
)

// A Finding is something that clients or models will stumble over.
type Finding struct {
	// Severity is error for what clients refuse, warning for the rest.
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	Kind     string `json:"kind"`
	Item     string `json:"item,omitempty"`
	Message  string `json:"message"`
}

// rules of the linter, one check each.
var toolRules = []struct {
	name, severity string
	check          func(it *catalog.Item) string
}{
	{"tool-name-length", "error", func(it *catalog.Item) string {
		return when(len(it.Name) > 64, "its name has %d characters; several clients refuse more than 64", len(it.Name))
	}},
	{"tool-name-characters", "error", func(it *catalog.Item) string {
		return when(!toolName.MatchString(it.Name), "its name has characters beyond letters, digits, _ and -; several clients refuse it")
	}},
	{"tool-description", "warning", func(it *catalog.Item) string {
		return when(strings.TrimSpace(it.Description) == "", "it has no description, so a model has to guess what it does")
	}},
	{"tool-description-length", "warning", func(it *catalog.Item) string {
		return when(len(it.Description) > 4096, "its description has %d bytes; every conversation pays for that", len(it.Description))
	}},
	{"tool-schema-type", "error", func(it *catalog.Item) string {
		kind, _ := jsonrpc.GetString(it.InputSchema, "type")
		return when(kind != "object", "its input schema must have the type object")
	}},
	{"tool-schema-top", "error", func(it *catalog.Item) string {
		for _, key := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
			if jsonrpc.Get(it.InputSchema, key) != nil {
				return fmt.Sprintf("its input schema has %s at the top, which some models' APIs refuse", key)
			}
		}
		return ""
	}},
	{"tool-schema-usable", "error", func(it *catalog.Item) string {
		if err := it.Unvalidated(); err != nil {
			return fmt.Sprintf("its input schema cannot be used: %v", err)
		}
		return ""
	}},
	{"tool-schema-required", "error", requiredUnknown},
	{"tool-schema-names", "error", func(it *catalog.Item) string {
		for _, f := range Form(it.InputSchema) {
			if len(f.Name) > maxArgumentName || !argumentName.MatchString(f.Name) {
				return fmt.Sprintf("its argument %q has a name that some models' APIs refuse", f.Name)
			}
		}
		return ""
	}},
	{"tool-argument-type", "warning", func(it *catalog.Item) string {
		return arguments(it, "have no type", func(f Field, _ []byte) bool { return f.Type == "" })
	}},
	{"tool-argument-description", "warning", func(it *catalog.Item) string {
		return arguments(it, "have no description", func(f Field, _ []byte) bool { return f.Description == "" })
	}},
	{"tool-schema-array", "error", func(it *catalog.Item) string {
		return arguments(it, "are arrays without items, which some models' APIs refuse", func(f Field, sub []byte) bool {
			return f.Type == "array" && jsonrpc.Get(sub, "items") == nil && jsonrpc.Get(sub, "prefixItems") == nil
		})
	}},
	{"tool-schema-default", "warning", wrongDefault},
	{"tool-annotations", "warning", func(it *catalog.Item) string {
		both := string(jsonrpc.Get(it.Annotations, "readOnlyHint")) == "true" && string(jsonrpc.Get(it.Annotations, "destructiveHint")) == "true"
		return when(both, "it says that it only reads and that it destroys")
	}},
	{"tool-header", "error", func(it *catalog.Item) string {
		if err := catalog.InvalidHeaders(it); err != nil {
			return err.Error() + "; over HTTP clients must not use it"
		}
		return ""
	}},
	{"tool-output-schema", "error", func(it *catalog.Item) string {
		kind, _ := jsonrpc.GetString(it.OutputSchema, "type")
		return when(len(it.OutputSchema) > 0 && kind != "object", "its output schema must have the type object")
	}},
}

// maxArgumentName is the longest that providers of models take.
const maxArgumentName = 64

var (
	toolName     = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	argumentName = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)
)

func when(wrong bool, format string, args ...any) string {
	if !wrong {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func requiredUnknown(it *catalog.Item) string {
	var names []string
	for _, f := range Form(it.InputSchema) {
		names = append(names, f.Name)
	}
	for _, name := range it.Required {
		if !slices.Contains(names, name) {
			return fmt.Sprintf("it requires %q, which its properties do not have", name)
		}
	}
	return ""
}

// arguments names those that something is wrong with.
func arguments(it *catalog.Item, what string, wrong func(f Field, schema []byte) bool) string {
	var names []string
	for _, f := range Form(it.InputSchema) {
		if wrong(f, resolveRef(it.InputSchema, jsonrpc.Get(it.InputSchema, "properties", f.Name))) {
			names = append(names, f.Name)
		}
	}
	return when(len(names) > 0, "its arguments %s %s", strings.Join(names, ", "), what)
}

func wrongDefault(it *catalog.Item) string {
	for _, f := range Form(it.InputSchema) {
		sub := resolveRef(it.InputSchema, jsonrpc.Get(it.InputSchema, "properties", f.Name))
		value := jsonrpc.Get(sub, "default")
		if value == nil || jsonrpc.Get(sub, "$ref") != nil {
			continue
		}
		wrapped := jsonrpc.Set([]byte(`{"type":"object"}`), sub, "properties", "value")
		if wrong, err := CheckJSON(wrapped, jsonrpc.Set([]byte(`{}`), value, "value")); err == nil && len(wrong) > 0 {
			return fmt.Sprintf("the default of %q breaks its own schema: %s", f.Name, wrong[0])
		}
	}
	return ""
}

// costly is how much a list of tools may cost before it is worth a word.
const costly = 10_000

// Lint looks at everything that a server lists.
func Lint(ctx context.Context, s *Session) ([]Finding, error) {
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
			found = append(found, Finding{severity, "list", kindWord(k), issue.Item, issue.Detail})
		}
		for i := range l.Items {
			found = append(found, lintItem(k, &l.Items[i])...)
		}
		if cost := listCost(l); k == catalog.Tools && cost > costly {
			found = append(found, Finding{"warning", "tools-cost", "tools", "", fmt.Sprintf("the list costs about %d tokens in every conversation", cost)})
		}
	}
	return found, nil
}

// LintFeatures looks at what a connected server has told already.
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

func listCost(l *Listing) int {
	n := 0
	for _, raw := range l.Raw {
		n += catalog.CostOf(raw).Tokens
	}
	return n
}

func lintItem(k catalog.Kind, it *catalog.Item) []Finding {
	var found []Finding
	add := func(severity, rule, message string) {
		if message != "" {
			found = append(found, Finding{severity, rule, kindWord(k), it.Key, message})
		}
	}
	switch k {
	case catalog.Tools:
		for _, r := range toolRules {
			add(r.severity, r.name, r.check(it))
		}
	case catalog.Prompts:
		add("warning", "prompt-description", when(it.Description == "", "it has no description"))
		for _, arg := range PromptArguments(it.Raw) {
			add("warning", "prompt-argument-description", when(arg.Description == "", "its argument %q has no description", arg.Name))
		}
	case catalog.Resources:
		u, err := url.Parse(it.Key)
		add("error", "resource-uri", when(err != nil || u.Scheme == "", "its URI is not absolute"))
		mime, _ := jsonrpc.GetString(it.Raw, "mimeType")
		add("warning", "resource-mime", when(mime == "", "it has no mimeType"))
	case catalog.Templates:
		add("error", "template-braces", when(strings.Count(it.Key, "{") != strings.Count(it.Key, "}"), "a brace is not closed"))
		add("warning", "template-description", when(it.Description == "", "it has no description"))
	}
	return found
}
