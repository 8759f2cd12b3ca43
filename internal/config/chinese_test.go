package config_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcptest/must"
)

// english matches two English words in a row, which a Chinese message must not
// contain outside of quotations from the file.
var (
	quoted  = regexp.MustCompile(`"[^"]*"|'[^']*'|` + "`[^`]*`" + `|\$\{[^}]*\}|mcp-all-in-one (secret set|key create) \S+|chmod \S+|--[a-z-]+`)
	blank   = regexp.MustCompile(`\p{Han} \p{Han}`)
	english = regexp.MustCompile(`[A-Za-z]{2,} [a-z]{2,}`)
)

// TestProblemsInChinese reads every file of the corpus and those below, and
// looks for untranslated words.
func TestProblemsInChinese(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpusDir, "*"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	bad := map[string]string{}
	for _, f := range files {
		data := must.Read(t, f)
		bad[filepath.Base(f)] = data
	}
	for i, content := range []string{
		`{"mcpServers": {"a": 1}}`, `{"mcpServers": []} x`, `{"mcpServers": {"a": {"command": "x", "args": "y"}}}`, `{"mcpServers": {"a": {"command": "x", "type": "http"}}}`,
		`{"mcpServers": {"a": {"url": "https://h", "type": "stdio", "protocol": "old"}}}`, `{"mcpServers": {"a": {"url": "x y"}}}`,
		`{"mcpServers": {"a": {"command": "x", "timeout": "soon", "env": {"A": 1, "": "b"}, "headers": {"b c": "d"}, "trust": true, "envFile": "e"}}}`,
		`{"schemas": {"v1": {}, "1a": {}}}`, `{"mcpServers": {}, "server": {"port": "many", "cors": {"origins": ["*"]}}, "roots": [{"uri": "http://x"}]}`,
		`{"mcpServers": {}, "limits": {"clientMessage": "huge"}, "health_check_enabled": true, "inputs": [], "cli": {"stdio": {"delimiter": "ab"}}}`,
		`{"mcpServers"`, `{"mcpServers": `, `{"mcpServers": {"a": `, `{"mcpServers": "x`, `{"mcpServers": {}} /* no end`, `{mcpServers: {}}`, `[]`, `{}`,
		`{"mcpServers": {}, "servers": {"a": {"command": "x"}}, "mcp_servers": [{"command": "y"}]}`,
		`{"mcpServers": {"a": {"type": "http", "command": "x"}}}`,
	} {
		bad["own"+string(rune('a'+i))+".json"] = content
	}
	for name, content := range bad {
		path := configtest.Write(t, name, content)
		cfg, err := config.Load(configtest.Options(t, path, nil))
		var problems []problem.Problem
		if load, ok := err.(*problem.LoadError); ok {
			problems = load.Problems
		} else if cfg != nil {
			problems = cfg.Problems
		}
		for _, p := range problems {
			p.File, p.Path = "", ""
			if text := p.In(i18n.Chinese); blank.MatchString(text) {
				t.Errorf("%s: a blank between Chinese words: %s", name, text)
			}
			if p.Code == problem.Syntax && !strings.HasSuffix(name, ".json") { // the message contains the YAML parser's text, which is not translated
				if text := p.In(i18n.Chinese); !strings.Contains(text, "语法错误：") {
					t.Errorf("%s: %s", name, text)
				}
				continue
			}
			if rest := quoted.ReplaceAllString(p.In(i18n.Chinese), ""); english.MatchString(rest) {
				t.Errorf("%s: %s", name, p.In(i18n.Chinese))
			}
		}
	}
}

// TestSyntaxInChinese covers the commonest mistakes, among them the characters
// of a Chinese input method.
func TestSyntaxInChinese(t *testing.T) {
	for content, want := range map[string]string{
		`{“mcpServers”: {}}`:                "此处请用半角字符 \"，而不是 “",
		`{"mcpServers"： {}}`:                "此处请用半角字符 :，而不是 ：",
		`{"mcpServers": {}，"mode": "full"}`: "此处请用半角字符 ,，而不是 ，",
		`{"mcpServers": ｛｝}`:                "此处请用半角字符 {，而不是 ｛",
		`{"mcpServers": {`:                  "文件在值的中间结束",
		`{"mcpServers": {"a": "x}}`:         "文件在字符串的中间结束",
		`{"mcpServers": /* {}`:              "文件在注释的中间结束",
		`{"mcpServers" {}}`:                 "此处应为 :，而不是 '{'",
		`{"mcpServers": }`:                  "此处应为一个值，而不是 '}'",
		`{"mcpServers": {}} x`:              "JSON 值在此之前已结束，不应再有 'x'",
	} {
		if got := refused(t, "a.json", content, problem.Syntax).In(i18n.Chinese); !strings.Contains(got, "语法错误："+want+"；") {
			t.Errorf("%s: %s", content, got)
		}
	}
	if got := refused(t, "a.json", `{"mcpServers"： {}}`, problem.Syntax).In(i18n.English); !strings.Contains(got, "use the ASCII character : here, not ：") {
		t.Error(got)
	}
}
