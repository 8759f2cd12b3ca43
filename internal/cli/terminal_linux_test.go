package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcptest/must"
)

// TestTablesOnTerminal checks tables on a terminal. Wide characters take two
// columns, and the state of a server is in the user's language.
func TestTablesOnTerminal(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	must.Write(t, path, `{"mcpServers": {"demo": {"command": "`+os.Args[0]+`", "args": ["demo"]}, "off": {"command": "ls", "enabled": false}}}`)
	for _, c := range []struct {
		lang, line string
		want       []string
	}{
		{"zh", "list", []string{"SCHEMA   服务器  状态    类型   目标\n", "default  off     已停用  stdio  ls\n", "demo    已配置  stdio"}},
		{"en", "list", []string{"SCHEMA   SERVER  STATE       TYPE   TARGET\n", "off     disabled    stdio  ls\n"}},
		{"zh", "status", []string{"服务器  状态    类型   工具  协议        PID", "demo    就绪    stdio  11    ", "off     已停用  stdio  0\n"}},
		{"en", "status", []string{"demo    ready     stdio  11     "}},
		{"zh", "cost", []string{
			"\n                     次数  字节  token\n", "\n  一次列表，full           1881  471\n", "\n  已展示的列表       0     0     0\n",
			"auto 会选择 full：",
		}},
		{"zh", "key ls", []string{"还没有 API 密钥；创建：mcp-all-in-one key create NAME\n"}},
		{"en", "key ls", []string{"no keys; create one with: mcp-all-in-one key create NAME\n"}},
	} {
		t.Run(c.lang+"/"+c.line, func(t *testing.T) {
			got := onTerminal(t, c.lang, append(strings.Fields(c.line), "-c", path)...)
			for _, want := range c.want {
				if !strings.Contains("\n"+got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		})
	}
}

// TestPictureOnTerminal shows pictures on a terminal. Each is saved in a file of
// its own, and none through a link that another user planted.
func TestPictureOnTerminal(t *testing.T) {
	shared, victim := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	t.Setenv("TMPDIR", shared)
	must.OK(t, errors.Join(os.WriteFile(victim, []byte("mine"), 0o600), os.Mkdir(filepath.Join(shared, "mcp-all-in-one"), 0o700),
		os.Symlink(victim, filepath.Join(shared, "mcp-all-in-one", "01-image.png"))))
	saved := map[string]bool{}
	for range 2 {
		got := onTerminal(t, "en", "call", "get_image", "--", os.Args[0], "demo")
		_, name, _ := strings.Cut(got, shared)
		name, _, _ = strings.Cut(name, "\n")
		path := shared + name
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 || info.Size() == 0 {
			t.Errorf("%v, %v of %q in\n%s", info, err, path, got)
		}
		saved[path] = true
	}
	if len(saved) != 2 {
		t.Errorf("two pictures are saved in %v", saved)
	}
	if data, err := os.ReadFile(victim); string(data) != "mine" {
		t.Errorf("the file of another is now %q, %v", data, err)
	}
}

// onTerminal runs the program with a terminal as its output, and returns what
// is seen there.
func onTerminal(t *testing.T, lang string, args ...string) string {
	t.Helper()
	ours, theirs := terminal(t)
	variables := map[string]string{"MCP_AIO_LANG": lang, "NO_COLOR": "1", "HOME": t.TempDir(), "PATH": os.Getenv("PATH")}
	seen := make(chan []byte)
	go func() {
		data, _ := io.ReadAll(ours) // ends with an error when the program closes the terminal
		seen <- data
	}()
	Run(t.Context(), env.Env{
		Args: append([]string{"mcp-all-in-one"}, args...), Stdin: strings.NewReader(""), Stdout: theirs, Stderr: theirs,
		Getenv: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
	})
	theirs.Close()
	return string(bytes.ReplaceAll(<-seen, []byte("\r\n"), []byte("\n")))
}

// terminal opens a pseudo-terminal and returns our side and the program's side.
func terminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close() })
	must.OK(t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// TestApproveShowsAgain changes an entry between the question and the answer.
func TestApproveShowsAgain(t *testing.T) {
	t.Run("door/8 what changed meanwhile is shown, and asked about again", func(t *testing.T) {
		home := t.TempDir()
		t.Setenv("HOME", home)
		path := must.Write(t, filepath.Join(home, "mcp.json"), `{"mcpServers":{}}`)
		propose := func(entry string) {
			t.Helper()
			_, err := edit.Update(path, edit.WriteOptions{Pending: true}, func(d *edit.Draft) error { return d.SetServer("", "x", []byte(entry)) })
			if err != nil {
				t.Fatal(err)
			}
		}
		propose(`{"command":"first"}`)
		ours, theirs := terminal(t)
		ended := make(chan int, 1)
		go func() {
			ended <- Run(t.Context(), env.Env{
				Args: []string{"mcp-all-in-one", "approve", "x", "-c", path}, Stdin: theirs, Stdout: theirs, Stderr: theirs,
				Getenv: func(name string) (string, bool) {
					return map[string]string{"MCP_AIO_LANG": "en"}[name], name == "MCP_AIO_LANG"
				},
			})
		}()
		seen := ""
		until := func(text string) {
			t.Helper()
			buffer := make([]byte, 4096)
			for !strings.Contains(seen, text) {
				n, err := ours.Read(buffer)
				if err != nil {
					t.Fatalf("%v after %q", err, seen)
				}
				seen += string(buffer[:n])
			}
		}
		until("[y/N]")
		propose(`{"command":"second"}`)
		fmt.Fprintln(ours, "y")
		until("nothing was approved")
		until("second")
		seen = seen[strings.Index(seen, "second"):]
		until("[y/N]")
		if cfg, err := config.Load(config.LoadOptions{Path: path}); err != nil || !cfg.Schemas[0].Server("x").Pending {
			t.Errorf("it was approved: %v", err)
		}
		fmt.Fprintln(ours, "y")
		if code := <-ended; code != 0 {
			t.Errorf("exit code %d", code)
		}
		if cfg, err := config.Load(config.LoadOptions{Path: path}); err != nil || cfg.Schemas[0].Server("x").Pending {
			t.Errorf("it was not approved: %v", err)
		}
	})
}

// TestImportAsks asks for another name until it is free.
func TestImportAsks(t *testing.T) {
	for name, test := range map[string]struct {
		typed string
		want  []string
	}{
		"a name":  {"other\ntheirs\n", []string{"another server is called files", "another server is called other", "files\timported as theirs\n"}},
		"nothing": {"\n", []string{"files\tskipped: another server is called files"}},
		"replace": {"=\n", []string{"files\timported\n"}},
	} {
		t.Run("true/10 "+name, func(t *testing.T) {
			_, gateway := moving(t, `{"mcpServers": {"files": {"command": "mine"}, "other": {"command": "o"}}}`)
			ours, theirs := terminal(t)
			if _, err := ours.WriteString(test.typed); err != nil {
				t.Fatal(err)
			}
			seen := make(chan []byte)
			go func() {
				data, _ := io.ReadAll(ours) // ends with an error when the program closes the terminal
				seen <- data
			}()
			code := Run(t.Context(), env.Env{Args: []string{"mcp-all-in-one", "-c", gateway, "import", "cursor"}, Stdin: theirs, Stdout: theirs, Stderr: theirs})
			theirs.Close()
			text := strings.ReplaceAll(string(<-seen), "\r\n", "\n")
			if code != 0 {
				t.Errorf("exit code %d", code)
			}
			must.Contain(t, text, test.want...)
		})
	}
}
