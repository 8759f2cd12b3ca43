package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/mcptest/must"
)

const corpusDir = "../../testdata/corpus/C"

// corpus copies one input into a private directory, so that the test can change
// modes and records there.
func corpus(t *testing.T, name string) string {
	t.Helper()
	data := must.Read(t, filepath.Join(corpusDir, name))
	return configtest.Write(t, name, data)
}

// TestCorpusRefused checks that invalid inputs are refused with a code and a
// position.
func TestCorpusRefused(t *testing.T) {
	for _, tt := range []struct {
		id, file, code string
		line, column   int
		says           string
	}{
		{"corpus/C01", "C01-empty.json", problem.Empty, 1, 1, ""},
		{"corpus/C01", "C01-spaces.json", problem.Empty, 1, 1, ""},
		{"corpus/C01", "C01-comment.yaml", problem.Empty, 1, 1, ""},
		{"corpus/C02", "C02.json", problem.Syntax, 2, 23, "ends"},
		{"corpus/C02", "C02.yaml", problem.Syntax, 3, 14, ""},
		{"corpus/C02", "C02-hash.json", problem.Syntax, 2, 3, "// does"},
		{"corpus/C02", "C02-comma.json", problem.Syntax, 3, 5, "a comma is missing before this value"},
		{"corpus/C02", "C02-quotes.json", problem.Syntax, 1, 2, "use double quotes"},
		{"corpus/C02", "C02-lines.json", problem.Syntax, 1, 37, "not a valid string"},
		{"corpus/C03", "C03-duplicate.json", problem.Duplicate, 3, 3, "line 2, column 3"},
		{"corpus/C03", "C03-duplicate.yaml", problem.Duplicate, 4, 3, "line 2, column 3"},
		{"corpus/C03", "C03-case.json", problem.SameName, 3, 3, `"Time" at line 2, column 3`},
		{"corpus/C03", "C03-width.json", problem.SameName, 3, 3, `"time" at line 2, column 3`},
		{"corpus/C04", "C04-space.json", problem.ServerName, 1, 17, "white space"},
		{"corpus/C04", "C04-ansi.json", problem.ServerName, 1, 17, "does not show"},
		{"corpus/C04", "C04-empty.json", problem.ServerName, 1, 17, "empty"},
		{"corpus/C04", "C04-dots.json", problem.ServerName, 1, 17, "a directory"},
		{"corpus/C04", "C04-dollar.json", problem.ServerName, 1, 17, "$ { }"},
		{"corpus/C04", "C04-long.json", problem.ServerName, 1, 17, "too long"},
		{"corpus/C06", "C06-both.json", problem.TwoTargets, 1, 46, "both command and url"},
		{"corpus/C06", "C06-neither.json", problem.NoTarget, 1, 22, "neither command nor url"},
		{"corpus/C07", "C07.json", problem.WrongType, 1, 47, "must be a list"},
		{"corpus/C08", "C08.json", problem.ShellLine, 1, 34, "never given to a shell"},
		{"corpus/C10", "C10-nul.json", problem.Character, 1, 48, "NUL"},
		{"corpus/C10", "C10-equals.json", problem.EnvName, 1, 47, "A=B"},
		{"corpus/C13", "C13-ftp.json", problem.URL, 1, 30, "neither http nor https"},
		{"corpus/C13", "C13-file.json", problem.URL, 1, 30, "neither http nor https"},
		{"corpus/C13", "C13-host.json", problem.URL, 1, 30, "names no host"},
		{"corpus/C14", "C14--1.json", problem.Range, 1, 50, "out of range"},
		{"corpus/C14", "C14-0.json", problem.Range, 1, 50, "out of range"},
		{"corpus/C14", "C14-1e12.json", problem.Range, 1, 50, "out of range"},
		{"corpus/C14", "C14-5parsecs.json", problem.Unit, 1, 50, "5 parsecs"},
		{"corpus/C15", "C15-high.json", problem.Range, 1, 21, "65535"},
		{"corpus/C20", "C20-aliases.yaml", problem.Aliases, 4, 36, "unfold"},
		{"corpus/C20", "C20-merge.yaml", problem.Aliases, 4, 25, "unfold"},
		{"corpus/C22", "C22-utf16le.json", problem.Encoding, 1, 1, "UTF-16"},
		{"corpus/C22", "C22-utf16be.json", problem.Encoding, 1, 1, "UTF-16"},
		{"corpus/C22", "C22-latin1.json", problem.Encoding, 1, 19, "0xFF"},
	} {
		t.Run(tt.id+"/"+tt.file, func(t *testing.T) {
			path := corpus(t, tt.file)
			_, err := config.Load(configtest.Options(t, path, nil))
			p := configtest.ProblemOf(t, err, tt.code)
			if p.File != path || p.Line != tt.line || p.Column != tt.column {
				t.Errorf("place = %s, want line %d, column %d", p.Place(), tt.line, tt.column)
			}
			if p.Hint == "" || p.HintZH == "" {
				t.Errorf("no way out: %v", p)
			}
			if !strings.Contains(p.Message, tt.says) {
				t.Errorf("message %q does not say %q", p.Message, tt.says)
			}
		})
	}
}

func TestCorpusAccepted(t *testing.T) {
	t.Run("corpus/C04", func(t *testing.T) {
		cfg, err := config.Load(configtest.Options(t, corpus(t, "C04-accepted.json"), nil))
		if err != nil || len(cfg.Schemas[0].Servers) != 5 {
			t.Errorf("odd but readable names: %v, %v", cfg, err)
		}
	})
	t.Run("corpus/C05", func(t *testing.T) {
		cfg := loaded(t, configtest.Options(t, corpus(t, "C05.json"), nil))
		p := configtest.Warned(t, cfg, problem.UnknownKey)
		if p.Line != 2 || p.Column != 3 || !strings.Contains(p.Hint, `"command"`) || p.Severity != problem.SeverityWarning {
			t.Errorf("problem = %v", p)
		}
	})
	t.Run("corpus/C09", func(t *testing.T) {
		cfg, err := config.Load(configtest.Options(t, corpus(t, "C09.json"), nil))
		if err != nil || len(cfg.Schemas[0].Servers) != 3 {
			t.Errorf("a command that is not there stops the load: %v", err)
		}
	})
	t.Run("corpus/C10", func(t *testing.T) {
		cfg, err := config.Load(configtest.Options(t, corpus(t, "C10-newline.json"), nil))
		if err != nil || cfg.Schemas[0].Servers[0].Args[0] != "a\nb" {
			t.Errorf("a newline in an argument: %v", err)
		}
	})
	t.Run("corpus/C11", func(t *testing.T) {
		cfg := loaded(t, configtest.Options(t, corpus(t, "C11.json"), nil))
		off, on := cfg.Schemas[0].Servers[0], cfg.Schemas[0].Servers[1]
		if off.Runnable() || !on.Runnable() || len(off.Missing) != 1 || off.Missing[0] != "UNSET" {
			t.Errorf("off = %+v, on = %+v", off, on)
		}
		p := configtest.Warned(t, cfg, problem.Undefined)
		if p.Severity != problem.SeverityDisabled || p.Line != 2 || p.Column != 45 || !strings.Contains(p.Message, `${UNSET} is not defined, so server "off" is off`) {
			t.Errorf("problem = %v", p)
		}
	})
	t.Run("corpus/C12", func(t *testing.T) {
		env := map[string]string{"A": "${B}", "B": "${A}"}
		cfg, err := config.Load(configtest.Options(t, corpus(t, "C12.json"), env))
		if err != nil || cfg.Schemas[0].Servers[0].Args[0] != "${B}" {
			t.Errorf("a variable's content was searched again: %+v, %v", cfg, err)
		}
	})
	t.Run("corpus/C13", func(t *testing.T) {
		cfg := loaded(t, configtest.Options(t, corpus(t, "C13-password.json"), nil))
		if p := configtest.Warned(t, cfg, problem.URLPassword); strings.Contains(p.String()+p.MessageZH, "hunter2") {
			t.Errorf("the password shows: %v", p)
		}
	})
	t.Run("corpus/C15", func(t *testing.T) {
		cfg, err := config.Load(configtest.Options(t, corpus(t, "C15-zero.json"), nil))
		if err != nil || !cfg.Server.PortSet || cfg.Server.Port != 0 {
			t.Errorf("port 0: %+v, %v", cfg, err)
		}
	})
	t.Run("corpus/C16", func(t *testing.T) {
		cfg := loaded(t, configtest.Options(t, corpus(t, "C16.json"), nil))
		if p := cfg.CheckListen(cfg.Server.Host); p == nil || p.Severity != problem.SeverityError || p.Code != problem.Exposed {
			t.Errorf("CheckListen(0.0.0.0) = %v", p)
		}
		if p := cfg.CheckListen(""); p == nil || !strings.HasPrefix(p.Message, "other machines can reach every address of this machine") {
			t.Errorf("CheckListen of no host = %v", p)
		}
		if p := cfg.CheckListen("::1"); p != nil {
			t.Errorf("CheckListen(::1) = %v", p)
		}
	})
	for _, name := range []string{"C22-bom-crlf.json", "C22-bom-crlf.yaml"} {
		t.Run("corpus/C22/"+name, func(t *testing.T) {
			cfg, err := config.Load(configtest.Options(t, corpus(t, name), nil))
			if err != nil || cfg.Schemas[0].Servers[0].Command != "x" {
				t.Fatalf("%+v, %v", cfg, err)
			}
			if cfg.Format == document.FormatJSON {
				if p := configtest.Warned(t, cfg, problem.UnknownKey); p.Line != 3 || p.Column != 27 {
					t.Errorf("place = %s", p.Place())
				}
			}
		})
	}
	t.Run("corpus/C24", func(t *testing.T) {
		cfg, err := config.Load(configtest.Options(t, corpus(t, "C24.json"), nil))
		if err != nil || cfg.Schemas[0].Servers[0].Args[2] != "/tmp" || !cfg.Schemas[0].Servers[0].Enabled {
			t.Errorf("%+v, %v", cfg, err)
		}
	})
}

func TestCorpusSizes(t *testing.T) {
	t.Run("corpus/C18 large", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.json")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		must.OK(t, f.Truncate(1<<30))
		f.Close()
		quick(t, func() {
			_, err := config.Load(configtest.Options(t, path, nil))
			configtest.ProblemOf(t, err, problem.TooLarge)
		})
	})
	t.Run("corpus/C19", func(t *testing.T) {
		for _, name := range []string{"a.json", "a.yaml"} {
			var b strings.Builder
			b.WriteString(map[string]string{"a.json": "{\"mcpServers\": {\n", "a.yaml": "mcpServers:\n"}[name])
			for i := range 10_000 {
				if name == "a.json" {
					fmt.Fprintf(&b, "\"s%d\": {\"command\": \"x\", \"args\": [\"%d\"]},\n", i, i)
				} else {
					fmt.Fprintf(&b, "  s%d:\n    command: x\n    args: [\"%d\"]\n", i, i)
				}
			}
			if name == "a.json" {
				b.WriteString("}}")
			}
			cfg := configtest.MustLoad(t, name, b.String(), nil)
			if n := len(cfg.Schemas[0].Servers); n != 10_000 {
				t.Errorf("%s: %d servers", name, n)
			}
		}
	})
	t.Run("corpus/C19 too many", func(t *testing.T) {
		quick(t, func() { refused(t, "a.yaml", manyKeys(50_000), problem.Syntax) })
	})
	for name, content := range map[string]string{
		"a.json": `{"mcpServers": ` + strings.Repeat("[", 100_000),
		"b.json": `{"mcpServers": {"a": ` + strings.Repeat(`{"a":`, 100_000),
		"a.yaml": "mcpServers: " + strings.Repeat("[", 100_000),
		"b.yaml": strings.Repeat("- ", 100_000) + "x\n",
		"c.yaml": strings.Repeat("? ", 100_000) + "x\n",
		"d.yaml": strings.Repeat("!!a ", 100_000) + "x\n",
		"e.yaml": strings.Repeat("&a ", 100_000) + "x\n",
		"f.yaml": strings.Repeat("a: ", 100_000) + "x\n",
	} {
		t.Run("corpus/C21/"+name, func(t *testing.T) {
			quick(t, func() {
				_, err := config.Load(configtest.Options(t, configtest.Write(t, name, content), nil))
				if p := configtest.ProblemOf(t, err, problem.Depth); p.Line == 0 || p.Column == 0 {
					t.Errorf("no place: %v", p)
				}
			})
		})
	}
}

// manyKeys returns a YAML object with n keys.
func manyKeys(n int) string {
	var b strings.Builder
	b.WriteString("mcpServers:\n")
	for i := range n {
		fmt.Fprintf(&b, "  s%d: {command: x}\n", i)
	}
	return b.String()
}

// quick fails if f takes longer than a person would wait.
func quick(t *testing.T, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}

// A host may have the brackets that it has in URLs.
func TestHostInBrackets(t *testing.T) {
	cfg := configtest.MustLoad(t, "a.json", `{"mcpServers": {}, "server": {"host": "[::1]"}}`, nil)
	if cfg.Server.Host != "::1" || len(cfg.Problems) > 0 {
		t.Errorf("host %q, %v", cfg.Server.Host, cfg.Problems)
	}
	cfg = configtest.MustLoad(t, "b.json", `{"mcpServers": {}, "server": {"host": ""}}`, nil)
	if p := configtest.Warned(t, cfg, problem.Exposed); !strings.HasPrefix(p.Message, "other machines can reach every address of this machine") {
		t.Errorf("an empty host: %v", p)
	}
	for _, host := range []string{"[]", "[a]", "[::1", "a.example.com"} {
		if got := config.BareHost(host); got != host {
			t.Errorf("%s becomes %s", host, got)
		}
	}
}
