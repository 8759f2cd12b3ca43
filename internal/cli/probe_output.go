package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

// printResult writes a result: as JSON where a script wants that, else its
// content for people.
func printResult(a *app, f *outputFlags, result json.RawMessage, save string) error {
	switch {
	case f.jq != "":
		return printJQ(a, f.jq, result)
	case f.template != "":
		return printTemplate(a, f.template, result)
	case a.asJSON:
		printJSON(a, result)
		return saveBlocks(a, result, save)
	}
	if done, err := printAs(a, f.output, result); done {
		return errors.Join(err, saveBlocks(a, result, save))
	}
	blocks := probe.Blocks(result)
	for i, b := range blocks {
		if err := printBlock(a, b, i, save); err != nil {
			return err
		}
	}
	if value := jsonrpc.Get(result, "structuredContent"); value != nil && probe.TextOf(result) == "" {
		printJSON(a, value)
	}
	return nil
}

// printJSON writes JSON, for a person with white space.
func printJSON(a *app, raw json.RawMessage) {
	var buf bytes.Buffer
	if isTerminal(a.Stdout) && json.Indent(&buf, raw, "", "  ") == nil {
		fmt.Fprintf(a.Stdout, "%s\n", buf.Bytes())
		return
	}
	fmt.Fprintf(a.Stdout, "%s\n", jsonrpc.Compact(nil, raw))
}

func printJQ(a *app, expression string, value json.RawMessage) error {
	results, err := probe.JQ(expression, value)
	if err != nil {
		return fail(exitUsage, codeUsage, "", "--jq: %v", err)
	}
	for _, r := range results {
		var text string
		if json.Unmarshal(r, &text) == nil {
			fmt.Fprintln(a.Stdout, text)
			continue
		}
		fmt.Fprintf(a.Stdout, "%s\n", r)
	}
	return nil
}

func printBlock(a *app, b probe.Block, n int, save string) error {
	if b.Role != "" {
		fmt.Fprintf(a.Stdout, "%s: ", b.Role)
	}
	switch {
	case b.Data != nil:
		return printData(a, b, n, save)
	case b.Type == "resource_link":
		fmt.Fprintf(a.Stdout, "→ %s %s\n", b.URI, b.Name)
	case b.Text != "" || b.Type == "text" || b.Type == "resource":
		fmt.Fprintf(a.Stdout, "%s\n", strings.TrimSuffix(b.Text, "\n"))
	default:
		printJSON(a, b.Raw)
	}
	return nil
}

// printData saves what a person cannot read to a file, and only names it where
// the output is not a terminal.
func printData(a *app, b probe.Block, n int, save string) error {
	about := fmt.Sprintf("[%s %s, %s]", b.Type, b.MIMEType, sized(a, byteSize(len(b.Data))))
	switch {
	case save != "":
	case isTerminal(a.Stdout):
		save = filepath.Join(os.TempDir(), "mcp-all-in-one")
	default:
		fmt.Fprintln(a.Stdout, about)
		return nil
	}
	path, err := saveBlock(b, n, save)
	if err != nil {
		return fail(exitFailure, "", "", "%s: %v", a.t("saving", "保存"), err)
	}
	fmt.Fprintf(a.Stdout, "%s %s\n", about, path)
	return nil
}

func saveBlocks(a *app, result json.RawMessage, dir string) error {
	if dir == "" {
		return nil
	}
	for i, b := range probe.Blocks(result) {
		if _, err := saveBlock(b, i, dir); err != nil {
			return fail(exitFailure, "", "", "%s: %v", a.t("saving", "保存"), err)
		}
	}
	return nil
}

func saveBlock(b probe.Block, n int, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	extension := ".txt"
	if known, err := mime.ExtensionsByType(b.MIMEType); err == nil && len(known) > 0 {
		extension = known[0]
	} else if b.Data != nil {
		extension = ".bin"
	}
	data := b.Data
	if data == nil {
		data = []byte(b.Text)
	}
	path := filepath.Join(dir, fmt.Sprintf("%02d-%s%s", n+1, b.Type, extension))
	return path, os.WriteFile(path, data, 0o600)
}

// summary is the one line under a result: how it went, where the time went,
// how much it was.
func summary(a *app, w io.Writer, x *probe.Exchange) {
	mark := "✓"
	if x.Err != nil || x.IsToolError() {
		mark = "✗"
	}
	t := x.Timing
	parts := []string{}
	if t.Gateway > 0 {
		parts = append(parts, a.t("gateway ", "网关 ")+milliseconds(t.Gateway))
	}
	parts = append(parts, a.t("transport ", "传输 ")+milliseconds(t.Transport), a.t("server ", "服务 ")+milliseconds(t.Server))
	if t.Asked > 0 {
		parts = append(parts, a.t("you ", "你 ")+milliseconds(t.Asked))
	}
	cost := catalog.CostOf(x.Result)
	fmt.Fprintf(w, "%s\n", a.paint(dim, fmt.Sprintf(a.t("%s %s ms (%s) · %s", "%s %s ms（%s）· %s"), mark, milliseconds(t.Total),
		strings.Join(parts, " · "), sized(a, byteSize(cost.Bytes)+" ≈ "+thousands(cost.Tokens)+" tokens"))))
}

// wantsSummary says whether a person sees what is said beside the result.
func (f *probeFlags) wantsSummary(a *app) bool { return f.verbose > 0 || isTerminal(a.Stderr) }

func milliseconds(d time.Duration) string {
	ms := float64(d.Microseconds()) / 1000
	if ms >= 10 {
		return fmt.Sprintf("%.0f", ms)
	}
	return fmt.Sprintf("%.1f", ms)
}

func byteSize(n int) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10_000:
		return fmt.Sprintf("%d KB", n>>10)
	case n == 1:
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// sized says a size, or a line with sizes, in the user's language.
func sized(a *app, text string) string {
	return a.t(text, strings.NewReplacer(" bytes", " 字节", " byte", " 字节", " tokens", " token").Replace(text))
}

func thousands(n int) string {
	if n >= 1000 {
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprint(n)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
