package output

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

// The formats of a result. ListFormats are for lists only.
var (
	Formats     = []string{"auto", "json", "jsonl", "yaml", "raw", "md"}
	ListFormats = []string{"auto", "table", "wide", "json", "jsonl", "yaml", "name", "md"}
)

// Options define how a result is printed.
type Options struct {
	jq, Output string
	// formats are the formats that the command supports.
	formats []string
}

// AddOutput adds the flags that select the output format.
func (f *Options) AddOutput(a *env.Env, flags *pflag.FlagSet, known []string) {
	f.formats = known
	flags.StringVarP(&f.Output, "output", "o", "auto", a.T("`FORMAT`: ", "输出格式 `FORMAT`：")+strings.Join(known, ", "))
	flags.StringVar(&f.jq, "jq", "", a.T("jq `EXPRESSION` that selects from the JSON", "从 JSON 中选取内容的 jq 表达式 `EXPRESSION`"))
}

// CheckOutput refuses a format that the command does not support.
func (f *Options) CheckOutput(a *env.Env) error {
	if f.formats == nil {
		return nil
	}
	if !slices.Contains(f.formats, f.Output) {
		return env.Fail(env.ExitUsage, env.CodeUsage, "-o "+strings.Join(f.formats, "|"), "%s %q", a.T("unknown format", "未知的格式"), f.Output)
	}
	if f.Output == "json" {
		a.UseJSON()
	}
	return nil
}

// Structured reports whether a script wants the JSON of a result, in any
// encoding.
func (f *Options) Structured(a *env.Env) bool {
	return a.JSON || f.jq != "" || f.Output == "jsonl" || f.Output == "yaml"
}

// printAs writes a result in the requested format; done is false if the format
// needs no special handling.
func printAs(a *env.Env, format string, result json.RawMessage) (done bool, err error) {
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

// printLines writes the parts of a result, one line of JSON each: its content
// blocks, or the items of its lists.
func printLines(a *env.Env, result json.RawMessage) {
	blocks := probe.Blocks(result)
	for _, b := range blocks {
		fmt.Fprintf(a.Stdout, "%s\n", jsonrpc.Compact(nil, b.Raw))
	}
	if len(blocks) > 0 {
		return
	}
	items := false
	for _, k := range AllKinds {
		for item := range jsonrpc.Elements(jsonrpc.Get(result, k.Member())) {
			items = true
			fmt.Fprintf(a.Stdout, "%s\n", jsonrpc.Compact(nil, item))
		}
	}
	if !items {
		fmt.Fprintf(a.Stdout, "%s\n", jsonrpc.Compact(nil, result))
	}
}

func printMarkdown(a *env.Env, result json.RawMessage) {
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
			fmt.Fprintf(a.Stdout, "*%s %s, %s*\n", b.Type, b.MIMEType, ByteSize(len(b.Data)))
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

// PrintListAs writes a list in the requested format; false if the format needs
// no special handling.
func PrintListAs(a *env.Env, format string, l *probe.Listing) bool {
	switch format {
	case "name":
		for _, key := range l.Keys() {
			fmt.Fprintln(a.Stdout, key)
		}
	case "table":
		t := &env.Table{Head: []string{strings.ToUpper(probe.KindWord(l.Kind)), a.T("ARGUMENTS", "参数"), a.T("DESCRIPTION", "描述")}, Aligned: true}
		for i := range l.Items {
			it := &l.Items[i]
			about, _, _ := strings.Cut(it.Description, "\n")
			t.Add(it.Key, argumentsOf(l.Kind, it), about)
		}
		a.Print(t)
	case "md":
		fmt.Fprintf(a.Stdout, "## %s\n\n", probe.KindWord(l.Kind))
		for i := range l.Items {
			it := &l.Items[i]
			fmt.Fprintf(a.Stdout, "- `%s`", ItemSignature(l.Kind, it))
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

// argumentsOf returns the text between the parentheses of a signature.
func argumentsOf(k catalog.Kind, it *catalog.Item) string {
	_, rest, ok := strings.Cut(ItemSignature(k, it), "(")
	if !ok {
		return ""
	}
	args, _, _ := strings.Cut(rest, ")")
	return args
}
