package seeds

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
)

type cost struct{ Bytes, Tokens int }

type receipt struct {
	Session, Client, Mode, Why string
	Tools                      int
	Lists, Inspections         int
	Shown, Inspected           cost
	List                       struct{ Full, Compact, Search cost }
	Warnings                   []string
	Advice                     struct{ Mode, Why string }
	Sessions                   []receipt
}

// receiptOf returns the receipt in the status of a running product.
func receiptOf(t *testing.T, url string) receipt {
	t.Helper()
	var status struct {
		Schemas map[string]struct{ Receipt receipt }
	}
	decode(t, []byte(get(t, url+"/api/status")), &status)
	return status.Schemas["default"].Receipt
}

func TestReceipts(t *testing.T) {
	p := mcptest.Gateway(t, compactConfig("compact", "", "example", child(t, "-role", "example", "-tools", "200")), "--no-self-config")
	w := newHTTPWire(t, p.URL+"/mcp")
	w.ask(strings.Replace(initialize, "test-client", "cursor-vscode", 1))
	list := w.ask(request(2, "tools/list", ""))
	found := w.ask(inspect(3, `{"server_name":"example","tool_name":"generated_0001"}`))
	w.ask(exec(4, "example", "example_tool", `{"param1":"x"}`))
	r := receiptOf(t, p.URL)
	if r.Mode != "compact" || r.Lists != 1 || r.Shown.Bytes != len(list.Result) || r.Shown != r.List.Compact || r.Tools != 2 {
		t.Errorf("what was shown: %+v; the list has %d bytes", r, len(list.Result))
	}
	if r.Inspections != 1 || r.Inspected.Bytes < len(found.Result)/2 || r.Inspected.Tokens == 0 {
		t.Errorf("what was looked up: %+v; the answer has %d bytes", r.Inspected, len(found.Result))
	}
	if r.List.Full.Tokens < 10*r.List.Search.Tokens || r.List.Full.Tokens < r.List.Compact.Tokens {
		t.Errorf("the modes: %+v", r.List)
	}
	if len(r.Sessions) != 1 || r.Sessions[0].Client != "cursor-vscode" || r.Sessions[0].Shown != r.Shown || r.Sessions[0].Inspections != 1 {
		t.Errorf("sessions: %+v", r.Sessions)
	}
	w.raw.Do("DELETE", "")
	p.Stop()
	if !strings.Contains(p.Stderr(), `msg="session receipt"`) || !strings.Contains(p.Stderr(), "inspections=1") {
		t.Errorf("the log has no receipt: %s", p.Stderr())
	}
}

func TestAutoMode(t *testing.T) {
	for _, c := range []struct {
		tools  int
		client string
		mode   string
	}{
		{5, "somebody", "full"}, {60, "somebody", "full"}, {60, "Cursor", "full"}, {110, "somebody", "full"}, {110, "Windsurf", "compact"}, {1000, "somebody", "compact"}, {3000, "somebody", "search"},
	} {
		t.Run(fmt.Sprintf("%d tools for %s", c.tools, c.client), func(t *testing.T) {
			p := mcptest.Gateway(t, compactConfig("auto", "", "example", child(t, "-role", "example", "-tools", fmt.Sprint(c.tools-1))), "--no-self-config")
			w := newHTTPWire(t, p.URL+"/mcp")
			w.ask(strings.Replace(initialize, "test-client", c.client, 1))
			names := listed(t, w.ask(request(2, "tools/list", "")), "tools")
			if got := len(names) == 2 && names[0] == "inspect"; got != (c.mode != "full") || !got && len(names) != c.tools {
				t.Errorf("shown %d tools", len(names))
			}
			r := receiptOf(t, p.URL)
			if len(r.Sessions) != 1 || r.Sessions[0].Mode != c.mode || !strings.Contains(r.Sessions[0].Why, "tokens in full mode") {
				t.Errorf("the session: %+v", r.Sessions)
			}
			// Whatever was chosen, both names lead to the tool.
			for _, line := range []string{call(3, "example__example_tool", `{"param1":"x"}`), exec(4, "example", "example_tool", `{"param1":"x"}`)} {
				if got := textOf(t, w.ask(line)); got != "工具执行结果: x" {
					t.Errorf("%s: %q", line, got)
				}
			}
			p.Stop()
			if !strings.Contains(p.Stderr(), `msg="mode chosen"`) {
				t.Errorf("the log does not say why: %s", p.Stderr())
			}
		})
	}
}

func TestClientLimits(t *testing.T) {
	long := mcpserver.New("long")
	echo := mcpserver.EchoTool()
	echo.Definition = strings.Replace(echo.Definition, `"echo"`, `"`+strings.Repeat("n", 63-len("long__"))+`"`, 1)
	long.SetTools(echo)
	p := mcptest.Gateway(t, serversConfig("example", child(t, "-role", "example", "-tools", "150"), "long", serve(t, long)), "--no-self-config")
	w := newHTTPWire(t, p.URL+"/mcp")
	w.ask(strings.Replace(initialize, "test-client", "Visual Studio Code", 1))
	w.ask(request(2, "tools/list", ""))
	r := receiptOf(t, p.URL)
	all := strings.Join(r.Warnings, "\n")
	for _, want := range []string{"Gemini takes 128 tools", "VS Code takes 128 tools", "Windsurf takes 100 tools", "Cursor has room for names of 45 characters"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q: %s", want, all)
		}
	}
	if len(r.Sessions) != 1 || len(r.Sessions[0].Warnings) != 2 || !strings.Contains(r.Sessions[0].Warnings[0], "VS Code takes 128 tools") ||
		!strings.Contains(r.Sessions[0].Warnings[1], "VS Code has room for names of 46 characters") {
		t.Errorf("the session: %+v", r.Sessions)
	}
}

func TestCostCommand(t *testing.T) {
	config := mcptest.WriteConfig(t, serversConfig("example", child(t, "-role", "example", "-tools", "300")))
	p := mcptest.Start(t, program(t, "mcp-all-in-one", "cost", "--mcp-config", config))
	if code := p.Wait(patience); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.Stderr())
	}
	for _, want := range []string{"schema default", "one list, full", "auto would choose compact", "Windsurf takes 100 tools"} {
		if !strings.Contains(p.Stdout(), want) {
			t.Errorf("it does not say %q:\n%s", want, p.Stdout())
		}
	}
	p = mcptest.Start(t, program(t, "mcp-all-in-one", "cost", "--json", "--mcp-config", config))
	p.Wait(patience)
	var all map[string]receipt
	decode(t, []byte(p.Stdout()), &all)
	if all["default"].List.Full.Tokens == 0 || all["default"].Advice.Mode != "compact" {
		t.Errorf("got %s", p.Stdout())
	}
}

const page = "../../docs/compact.md"

// TestCompactPage measures the cost of a list of tools, and compares the table
// in the page with it.
func TestCompactPage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| tools | full | compact | search | auto shows |\n|---:|---:|---:|---:|---|\n")
	for _, tools := range []int{10, 100, 1000, 5000} {
		p := mcptest.Gateway(t, compactConfig("auto", "", "example", child(t, "-role", "example", "-tools", fmt.Sprint(tools-1))), "--no-self-config")
		w := newHTTPWire(t, p.URL+"/mcp")
		w.ask(request(1, "tools/list", ""))
		r := receiptOf(t, p.URL)
		p.Stop()
		fmt.Fprintf(&table, "| %d | %s | %s | %s | %s |\n", tools, r.List.Full, r.List.Compact, r.List.Search, r.Mode)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- measured -->\n", "<!-- /measured -->"
	before, rest, ok := strings.Cut(string(data), begin)
	old, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+table.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != table.String() {
		t.Errorf("docs/compact.md is stale: go test ./test/seeds -run CompactPage -update\n%s", table.String())
	}
}

func (c cost) String() string { return fmt.Sprintf("%d tokens (%d KB)", c.Tokens, (c.Bytes+999)/1000) }
