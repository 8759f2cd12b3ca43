package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestClientFileForm imports from and connects to every client with a file that
// has a byte order mark and Windows line endings. Both are preserved.
func TestClientFileForm(t *testing.T) {
	for _, c := range clients.All() {
		t.Run("true/10 "+c.ID, func(t *testing.T) {
			m := newMachine(t, c.ID)
			m.sample = []byte("\ufeff" + strings.ReplaceAll(string(m.sample), "\n", "\r\n"))
			m.write(string(m.sample))
			if out, _ := m.run(0, "import", c.ID); !strings.Contains(out, "\timported\n") {
				t.Errorf("imported: %s", out)
			}
			m.run(0, "connect", c.ID)
			m.hasOwnEntry()
			text := m.content()
			if !strings.HasPrefix(text, "\ufeff") || strings.Count(text, "\ufeff") != 1 {
				t.Errorf("the mark is lost: %q", text)
			}
			if strings.Count(text, "\n") != strings.Count(text, "\r\n") {
				t.Errorf("lines end in two ways: %q", text)
			}
			// After a manual edit, disconnecting removes only the entry.
			m.write(text + "\r\n")
			m.run(0, "disconnect", c.ID)
			if text := m.content(); strings.Contains(text, clients.OwnEntry) || !strings.HasPrefix(text, "\ufeff") || strings.Count(text, "\n") != strings.Count(text, "\r\n") {
				t.Errorf("disconnected: %q", text)
			}
		})
	}
}

// TestOpenCodeHolder reads and writes the servers where OpenCode version 2 has
// them.
func TestOpenCodeHolder(t *testing.T) {
	t.Run("true/10 mcp.servers", func(t *testing.T) {
		m := newMachine(t, "opencode")
		m.sample = []byte(`{"mcp": {"servers": {"a": {"type": "local", "command": ["ls"], "disabled": true}}}}`)
		m.write(string(m.sample))
		m.run(0, "import", "opencode")
		out, _ := m.run(0, "export", "json")
		must.Contain(t, out, `"a"`, `"enabled": false`)
		m.run(0, "connect", "opencode")
		m.hasOwnEntry()
		m.run(0, "disconnect", "opencode")
	})
}

func TestGeminiExcluded(t *testing.T) {
	t.Run("true/10 mcp.excluded", func(t *testing.T) {
		m := newMachine(t, "gemini")
		m.write(`{"mcp": {"excluded": ["a"]}, "mcpServers": {"a": {"command": "ls"}, "b": {"command": "ls"}}}`)
		m.run(0, "import", "gemini")
		out, _ := m.run(0, "list")
		must.Contain(t, out, "\ta\tdisabled\t", "\tb\tconfigured\t")
	})
}

// TestImportOneBadFile checks that an unreadable file is reported and does not
// stop the import of the others.
func TestImportOneBadFile(t *testing.T) {
	t.Run("true/10 one bad file", func(t *testing.T) {
		m := newMachine(t, "gemini")
		cursor := must.Write(t, filepath.Join(os.Getenv("HOME"), ".cursor", "mcp.json"), `{"mcpServers": {`)
		out, errs := m.run(2, "import", "cursor", "windsurf", "gemini")
		must.Contain(t, out, "new\timported\n", "old\timported\n")
		must.Contain(t, errs, cursor, "Windsurf has no file here")
		if out, _ = m.run(0, "export", "json"); !strings.Contains(out, "GEMINI_TOOL_KEY") {
			t.Errorf("imported: %s", out)
		}
	})
}

// TestImportCollision checks that a server gets another name if its own is
// taken.
func TestImportCollision(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		out  string
		want []string
	}{
		"skipped":          {nil, "files\tskipped: another server is called files: --rename files=NEW, --replace\napi\timported\n", []string{`"/srv"`}},
		"renamed":          {[]string{"--rename", "files=theirs"}, "files\timported as theirs\napi\timported\n", []string{`"/srv"`, `"/tmp"`, `"theirs"`}},
		"renamed to taken": {[]string{"--rename", "files=other"}, "files\tskipped: another server is called other: --rename files=NEW, --replace\napi\timported\n", []string{`"/srv"`}},
		"replaced":         {[]string{"--replace"}, "files\timported\napi\timported\n", []string{`"/tmp"`}},
	} {
		t.Run("true/10 "+name, func(t *testing.T) {
			m, gateway := moving(t, `{"mcpServers": {"files": {"command": "fs", "args": ["/srv"]}, "other": {"command": "o"}}}`)
			out, _ := m.run(0, append([]string{"-c", gateway, "import", "cursor"}, test.args...)...)
			if out != test.out {
				t.Errorf("%q, want %q", out, test.out)
			}
			must.Contain(t, must.Read(t, gateway), test.want...)
		})
	}
	for _, args := range [][]string{{"import", "cursor"}, {"connect", "cursor", "--move"}} {
		t.Run("true/10 renamed that is not there, "+args[0], func(t *testing.T) {
			m, gateway := moving(t, `{"mcpServers": {"files": {"command": "fs", "args": ["/srv"]}}}`)
			before := must.Read(t, gateway)
			_, errs := m.run(2, append(append([]string{"-c", gateway}, args...), "--rename", "flies=theirs")...)
			must.Contain(t, errs, "--rename flies=theirs: no server called flies was found", "rename one of: files, api")
			if must.Read(t, gateway) != before {
				t.Error("the file was changed")
			}
		})
	}
	t.Run("true/10 renamed by moving", func(t *testing.T) {
		m, gateway := moving(t, `{"mcpServers": {"files": {"command": "fs", "args": ["/srv"]}}}`)
		_, errs := m.run(0, "-c", gateway, "connect", "cursor", "--move", "--rename", "files=theirs")
		must.Contain(t, errs, "moved: files as theirs\n", "moved: api\n")
		must.Contain(t, must.Read(t, gateway), `"/srv"`, `"/tmp"`, `"theirs"`)
		m.run(0, "-c", gateway, "disconnect", "cursor")
		if m.content() != string(m.sample) || strings.Contains(must.Read(t, gateway), "theirs") {
			t.Errorf("left are\n%s\n%s", m.content(), must.Read(t, gateway))
		}
	})
}

// TestImportRefused checks that a server that is not valid in our file is
// skipped with a reason.
func TestImportRefused(t *testing.T) {
	t.Run("true/10 a name with a space", func(t *testing.T) {
		m, gateway := moving(t, `{"mcpServers": {}}`)
		m.sample = []byte(`{"mcpServers": {"my files": {"command": "fs"}, "api": {"command": "api"}}}`)
		must.Write(t, m.file, m.sample)
		out, _ := m.run(0, "-c", gateway, "import", "cursor")
		must.Contain(t, out, "my files\tskipped: ", "white space", "api\timported\n")
		out, _ = m.run(0, "-c", gateway, "import", "cursor", "--rename", "my files=files")
		must.Contain(t, out, "my files\timported as files\n")
	})
}

// TestImportClientBeforeFolder reads VS Code's file although a folder has its
// name, and applies a client's rules to its file given by path.
func TestImportClientBeforeFolder(t *testing.T) {
	t.Run("true/15 a folder called vscode", func(t *testing.T) {
		m := newMachine(t, "vscode")
		t.Chdir(t.TempDir())
		must.Folder(t, "vscode")
		out, _ := m.run(0, "import", "vscode")
		must.Contain(t, out, "perplexity\timported\n")
		_, errs := m.run(2, "import", "./vscode")
		must.Contain(t, errs, "it is a folder")
	})
	t.Run("true/10 a file of Crush", func(t *testing.T) {
		m := newMachine(t, "crush")
		t.Chdir(t.TempDir())
		must.Write(t, "crush.json", `{"mcp": {"a": {"command": "ls", "timeout": 9, "env": {"K": "$KEY"}}}}`)
		m.run(0, "import", "./crush.json")
		out, _ := m.run(0, "export", "json")
		must.Contain(t, out, `"9s"`, `"${KEY}"`)
	})
}
