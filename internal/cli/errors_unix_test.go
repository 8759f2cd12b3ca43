//go:build unix

package cli

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/rogpeppe/go-internal/txtar"

	"mcp-all-in-one/internal/mcptest/must"
)

// wrongCommands are command lines that fail, by class. Their files are in
// testdata/errors/files.txtar.
var wrongCommands = []struct{ class, lines string }{
	{"config", `
config validate -c syntax.json
config validate -c cut.json
config validate -c tab.yaml
config validate -c open.yaml
config validate -c wrong.json
config validate -c nothing.json
config validate -c home
http -c demo.json --host 0.0.0.0 -p 0 --log-level error
http -c demo.json -p 99999
stdio -c demo.json --schema none
add demo -c demo.json -- ls
add 'b c' -c demo.json -- ls
add x --env Y -c demo.json -- ls
remove none -c demo.json
key create x --scope mode:none -c demo.json
key create x --scope readony -c demo.json
add x -c demo.json --
list tool demo -c demo.json
explain none
import none.json -c demo.json
`},
	{"servers", `
status -c servers.json
call missing.x -c servers.json
call plain.x -c servers.json
call nowhere.x -c servers.json
call variable.x -c servers.json
call refused.x -c servers.json
call off.x -c servers.json
call none.x -c servers.json
auth login refused -c servers.json
auth login missing -c servers.json
ping -- false
ping --timeout 1s -- sleep 9
ping http://127.0.0.1:1/mcp
`},
	{"arguments", `
call add a=x b=1 -- mcp-all-in-one demo
call add a=1 -- mcp-all-in-one demo
call add 'a:={' -- mcp-all-in-one demo
call add a=@no-such-file -- mcp-all-in-one demo
call add 'a[=1' -- mcp-all-in-one demo
call add 'a[x]=1' -- mcp-all-in-one demo
call add a..b=1 -- mcp-all-in-one demo
call add word -- mcp-all-in-one demo
call demo none -c demo.json
call -- mcp-all-in-one demo
prompt greting -- mcp-all-in-one demo
call add --args '{' -- mcp-all-in-one demo
call add --args '{"a":"x","b":[]}' -- mcp-all-in-one demo
call echo mesage=x -- mcp-all-in-one demo
call echo message=x --jq '.[' -- mcp-all-in-one demo
call none -- mcp-all-in-one demo
prompt summarize -- mcp-all-in-one demo
read none://x -- mcp-all-in-one demo
call long_task seconds=90 --timeout 5s -- mcp-all-in-one demo
`},
	{"filters", `
traffic none:x -c demo.json
traffic dur:x -c demo.json
traffic name: -c demo.json
traffic since:x -c demo.json
traffic 'name:[' -c demo.json
`},
	{"tests", `
lint -- mcp-all-in-one demo
test expect.yaml
test unknown.yaml
test empty.yaml
test two.yaml
test no-such-file.yaml
test
list tools
compare --ignore '$[*].a' -- mcp-all-in-one demo
diff plain.txt plain.txt
mock plain.txt
history import plain.txt
`},
	{"clients", `
import cursor -c demo.json
import none -c demo.json
connect none -c demo.json
connect claude -c demo.json
export
key create -c demo.json
import plain.txt -c demo.json
`},
	{"install", `
search airtable -c registry.json
add io.github.domdomegg/airtable-mcp-server -c registry.json
add ./plain.mcpb -c registry.json
add ./none.mcpb -c registry.json
script nofile.js -c demo.json
script home -c demo.json
script - --at monday -c demo.json
script - --arg x -c demo.json
`},
	{"files", `
http -c missing-cert.json -p 0
http -c missing-key.json -p 0
http -c other-key.json -p 0
http -c not-pem.json -p 0
lock -c broken-lock/mcp.json
lock verify -c broken-lock/mcp.json
config validate -c config.toml
config validate -c toml.txt
--version >/dev/null; XDG_CONFIG_HOME=$PWD/toml-only mcp-all-in-one status
--help >/dev/full
config schema >/dev/full
`},
	{"flags", `
none
http --none
http --port
http --port x
http --=x
explain none
`},
}

// TestErrorsInBothLanguages runs each command line in both languages and
// compares the output with the golden files.
func TestErrorsInBothLanguages(t *testing.T) {
	t.Parallel()
	files, err := txtar.ParseFile(filepath.Join("testdata", "errors", "files.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	bin := installed(t)
	for _, c := range wrongCommands {
		for _, lang := range []string{"en", "zh"} {
			t.Run(c.class+"/"+lang, func(t *testing.T) {
				t.Parallel()
				dir := unpack(t, files)
				var got bytes.Buffer
				for line := range strings.Lines(strings.TrimPrefix(c.lines, "\n")) {
					said := sayWrong(t, bin, dir, lang, strings.TrimSpace(line))
					got.WriteString("$ " + line + said + "\n")
					if lang == "zh" {
						onlyChinese(t, line, said)
					}
				}
				golden(t, filepath.Join("testdata", "errors", c.class+"."+lang+".txt"), got.Bytes())
			})
		}
	}
}

func unpack(t *testing.T, files *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files.Files {
		must.Write(t, filepath.Join(dir, f.Name), f.Data)
	}
	return dir
}

var (
	took = regexp.MustCompile(`# [\d.]+ ms`)
	// notes are what a command prints when its server takes over two seconds to
	// start.
	notes = regexp.MustCompile("(?m)^(waiting for|正在等待) .*\n")
)

// sayWrong returns the output of a command without the parts that vary.
func sayWrong(t *testing.T, bin, dir, lang, line string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", "mcp-all-in-one "+line)
	cmd.Dir = dir
	home := filepath.Join(dir, "home")
	cmd.Env = []string{"HOME=" + home, "XDG_RUNTIME_DIR=" + dir, "PATH=" + bin + ":/usr/bin:/bin", "MCP_AIO_LANG=" + lang, "NO_COLOR=1"}
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	said := strings.NewReplacer(dir, "DIR", bin, "BIN").Replace(string(out))
	return took.ReplaceAllString(notes.ReplaceAllString(said, ""), "# N ms")
}

// Text that is not ours to translate: quotations, commands, messages of
// servers, names.
var (
	notOurs  = regexp.MustCompile("(?m)\"[^\"]*\"|'[^']*'|`[^`]*`|\\{.*|服务器询问：[^；]*|服务器返回错误[^：]*：[^（]*|^ok .*|^not ok .*|^#.*|^ +(?:修正|详情|目标|工具|服务器|PATH|配置|示例) .*|[^ ]*mcp-all-in-one .*|^[^\t\n]*\t[^\t]*\t[^\t]*\t[^\t]*\t[^\t]*\t[^\t]*\t")
	sentence = regexp.MustCompile(`[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}`)
	// ofParsers are the words of the parsers of JSON, YAML and jq.
	ofParsers = regexp.MustCompile(`(?m)invalid character .*|\[\d+:\d+\] .*|unexpected (EOF|end) .*|语法错误：[^；]*`)
)

func onlyChinese(t *testing.T, line, said string) {
	t.Helper()
	if !strings.ContainsFunc(said, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		t.Errorf("%s: nothing is in Chinese:\n%s", line, said)
	}
	if found := sentence.FindString(notOurs.ReplaceAllString(ofParsers.ReplaceAllString(said, ""), "")); found != "" {
		t.Errorf("%s: English: %q in\n%s", line, found, said)
	}
}
