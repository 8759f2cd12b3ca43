// Package output prints the responses of servers, in the formats of the tester.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

// PrintResult writes a result: as JSON for scripts, otherwise its content in
// readable form.
func PrintResult(a *env.Env, f *Options, result json.RawMessage, save string) error {
	switch {
	case f.jq != "":
		return printJQ(a, f.jq, result)
	case a.JSON:
		PrintJSON(a, result)
		return saveBlocks(a, result, save)
	}
	if done, err := printAs(a, f.Output, result); done {
		return errors.Join(err, saveBlocks(a, result, save))
	}
	blocks := probe.Blocks(result)
	for i, b := range blocks {
		if err := printBlock(a, b, i, save); err != nil {
			return err
		}
	}
	if value := jsonrpc.Get(result, "structuredContent"); value != nil && probe.TextOf(result) == "" {
		PrintJSON(a, value)
	}
	return nil
}

// PrintJSON writes JSON, indented if stdout is a terminal.
func PrintJSON(a *env.Env, raw json.RawMessage) {
	var buf bytes.Buffer
	if env.IsTerminal(a.Stdout) && json.Indent(&buf, raw, "", "  ") == nil {
		fmt.Fprintf(a.Stdout, "%s\n", buf.Bytes())
		return
	}
	fmt.Fprintf(a.Stdout, "%s\n", jsonrpc.Compact(nil, raw))
}

func printJQ(a *env.Env, expression string, value json.RawMessage) error {
	results, err := probe.JQ(expression, value)
	if err != nil {
		return env.Fail(env.ExitUsage, env.CodeUsage, "--jq '.content[0].text'", "--jq: %v", err)
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

func printBlock(a *env.Env, b probe.Block, n int, save string) error {
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
		PrintJSON(a, b.Raw)
	}
	return nil
}

// printData saves binary data to a file: in the folder save, or on a terminal in
// a new temporary file. If the output is not a terminal and no folder is given,
// it prints only a description.
func printData(a *env.Env, b probe.Block, n int, save string) error {
	about := fmt.Sprintf("[%s %s, %s]", b.Type, b.MIMEType, Sized(a, ByteSize(len(b.Data))))
	if save == "" && !env.IsTerminal(a.Stdout) {
		fmt.Fprintln(a.Stdout, about)
		return nil
	}
	path, err := saveBlock(b, n, save)
	if err != nil {
		return env.Fail(env.ExitFailure, "", "", "%s: %v", a.T("saving", "保存"), err)
	}
	fmt.Fprintf(a.Stdout, "%s %s\n", about, path)
	return nil
}

func saveBlocks(a *env.Env, result json.RawMessage, dir string) error {
	if dir == "" {
		return nil
	}
	for i, b := range probe.Blocks(result) {
		if _, err := saveBlock(b, i, dir); err != nil {
			return env.Fail(env.ExitFailure, "", "", "%s: %v", a.T("saving", "保存"), err)
		}
	}
	return nil
}

// saveBlock saves a block in a folder, or in a temporary file if dir is "". The
// name of that file is new: the folder is shared with other users, who could have
// put a link under a known name.
func saveBlock(b probe.Block, n int, dir string) (string, error) {
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
	if dir == "" {
		file, err := os.CreateTemp("", "mcp-all-in-one-*"+extension)
		if err != nil {
			return "", err
		}
		_, err = file.Write(data)
		return file.Name(), errors.Join(err, file.Close())
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%02d-%s%s", n+1, b.Type, extension))
	return path, os.WriteFile(path, data, 0o600)
}

// Summary prints one line below a result: status, timing and size.
func Summary(a *env.Env, w io.Writer, x *probe.Exchange) {
	mark := "✓"
	if x.Err != nil || x.IsToolError() {
		mark = "✗"
	}
	t := x.Timing
	parts := []string{}
	if t.Gateway > 0 {
		parts = append(parts, a.T("gateway ", "网关 ")+Milliseconds(t.Gateway))
	}
	parts = append(parts, a.T("transport ", "传输 ")+Milliseconds(t.Transport), a.T("server ", "服务器 ")+Milliseconds(t.Server))
	if t.Asked > 0 {
		parts = append(parts, a.T("you ", "你 ")+Milliseconds(t.Asked))
	}
	cost := catalog.CostOf(x.Result)
	fmt.Fprintf(w, "%s\n", a.Paint(env.Dim, fmt.Sprintf(a.T("%s %s ms (%s) · %s", "%s %s ms（%s）· %s"), mark, Milliseconds(t.Total),
		strings.Join(parts, " · "), Sized(a, ByteSize(cost.Bytes)+" ≈ "+Thousands(cost.Tokens)+" tokens"))))
}

func Milliseconds(d time.Duration) string {
	ms := float64(d.Microseconds()) / 1000
	if ms >= 10 {
		return fmt.Sprintf("%.0f", ms)
	}
	return fmt.Sprintf("%.1f", ms)
}

func ByteSize(n int) string {
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

// Sized returns a size, or a line with sizes, in the user's language.
func Sized(a *env.Env, text string) string {
	return a.T(text, strings.NewReplacer(" bytes", " 字节", " byte", " 字节", " tokens", " token").Replace(text))
}

func Thousands(n int) string {
	if n >= 1000 {
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return fmt.Sprint(n)
}
