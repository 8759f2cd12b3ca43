package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

// The formats of a result. Those of listFormats are for lists alone.
var (
	formats     = []string{"auto", "json", "jsonl", "yaml", "raw", "md"}
	listFormats = []string{"auto", "table", "wide", "json", "jsonl", "yaml", "name", "md"}
)

// outputFlags say how a result is printed.
type outputFlags struct {
	jq, output, template string
	// formats are those that the command can write.
	formats []string
}

// addOutput lets a command choose how its result is written.
func (f *outputFlags) addOutput(a *app, flags *pflag.FlagSet, known []string) {
	f.formats = known
	flags.StringVarP(&f.output, "output", "o", "auto", a.t("`FORMAT`: ", "输出格式 `FORMAT`：")+strings.Join(known, ", "))
	flags.StringVar(&f.jq, "jq", "", a.t("`EXPRESSION` that picks from the JSON", "从 JSON 中选取的表达式 `EXPRESSION`"))
	flags.StringVar(&f.template, "template", "", a.t("Go `TEMPLATE` that writes the JSON", "以 Go 模板 `TEMPLATE` 输出 JSON"))
}

// checkOutput refuses a format that the command does not have.
func (f *outputFlags) checkOutput(a *app) error {
	if f.formats == nil {
		return nil
	}
	if !slices.Contains(f.formats, f.output) {
		return fail(exitUsage, codeUsage, "-o "+strings.Join(f.formats, "|"), "%s %q", a.t("unknown format", "未知的格式"), f.output)
	}
	if f.output == "json" {
		a.json()
	}
	if f.template != "" && f.jq != "" {
		return fail(exitUsage, codeUsage, "", "%s", a.t("--jq and --template cannot go together", "--jq 与 --template 不能同时使用"))
	}
	return f.checkTemplate()
}

// structured says that a script wants the JSON of a result, in whatever
// writing.
func (f *outputFlags) structured(a *app) bool {
	return a.asJSON || f.jq != "" || f.template != "" || f.output == "jsonl" || f.output == "yaml"
}

// printAs writes a result in the format that was asked for; false where there
// is nothing special about it.
func printAs(a *app, format string, result json.RawMessage) (done bool, err error) {
	switch format {
	case "jsonl":
		printLines(a, result)
	case "yaml":
		text, err := yaml.JSONToYAML(result)
		if err != nil {
			return true, err
		}
		_, err = a.Stdout.Write(text)
		return true, err
	case "raw":
		for _, b := range probe.Blocks(result) {
			data := b.Data
			if data == nil {
				data = []byte(b.Text)
			}
			if _, err := a.Stdout.Write(data); err != nil {
				return true, err
			}
		}
	case "md":
		printMarkdown(a, result)
	default:
		return false, nil
	}
	return true, nil
}

// printLines writes the pieces of a result, a line of JSON each: its blocks,
// or the items of its lists.
func printLines(a *app, result json.RawMessage) {
	blocks := probe.Blocks(result)
	for _, b := range blocks {
		fmt.Fprintf(a.Stdout, "%s\n", jsonrpc.Compact(nil, b.Raw))
	}
	if len(blocks) > 0 {
		return
	}
	items := false
	for _, k := range allKinds {
		for item := range jsonrpc.Elements(jsonrpc.Get(result, k.Member())) {
			items = true
			fmt.Fprintf(a.Stdout, "%s\n", jsonrpc.Compact(nil, item))
		}
	}
	if !items {
		fmt.Fprintf(a.Stdout, "%s\n", jsonrpc.Compact(nil, result))
	}
}

func printMarkdown(a *app, result json.RawMessage) {
	blocks := probe.Blocks(result)
	for i, b := range blocks {
		if i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		if b.Role != "" {
			fmt.Fprintf(a.Stdout, "**%s**\n\n", b.Role)
		}
		switch {
		case b.Data != nil:
			fmt.Fprintf(a.Stdout, "*%s %s, %s*\n", b.Type, b.MIMEType, byteSize(len(b.Data)))
		case b.Type == "resource_link":
			fmt.Fprintf(a.Stdout, "[%s](%s)\n", b.Name, b.URI)
		default:
			fmt.Fprintf(a.Stdout, "%s\n", strings.TrimSuffix(b.Text, "\n"))
		}
	}
	if value := jsonrpc.Get(result, "structuredContent"); value != nil && probe.TextOf(result) == "" {
		fmt.Fprintf(a.Stdout, "```json\n%s\n```\n", value)
	}
}

// printListAs writes a list in the format that was asked for; false where
// there is nothing special about it.
func printListAs(a *app, format string, l *probe.Listing) bool {
	switch format {
	case "name":
		for _, key := range l.Keys() {
			fmt.Fprintln(a.Stdout, key)
		}
	case "table":
		t := &table{head: []string{strings.ToUpper(kindName(l.Kind)), a.t("ARGUMENTS", "参数"), a.t("DESCRIPTION", "描述")}, aligned: true}
		for i := range l.Items {
			it := &l.Items[i]
			about, _, _ := strings.Cut(it.Description, "\n")
			t.add(it.Key, argumentsOf(l.Kind, it), about)
		}
		a.print(t)
	case "md":
		fmt.Fprintf(a.Stdout, "## %s\n\n", kindName(l.Kind))
		for i := range l.Items {
			it := &l.Items[i]
			fmt.Fprintf(a.Stdout, "- `%s`", itemSignature(l.Kind, it))
			if it.Description != "" {
				fmt.Fprintf(a.Stdout, " — %s", strings.ReplaceAll(it.Description, "\n", "\n  "))
			}
			fmt.Fprintln(a.Stdout)
		}
		fmt.Fprintln(a.Stdout)
	default:
		return false
	}
	return true
}

// argumentsOf is what is between the brackets of a signature.
func argumentsOf(k catalog.Kind, it *catalog.Item) string {
	_, rest, ok := strings.Cut(itemSignature(k, it), "(")
	if !ok {
		return ""
	}
	args, _, _ := strings.Cut(rest, ")")
	return args
}
