package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/mcptest/must"
)

// A typist is a user at the terminal of a program.
type typist struct {
	t    *testing.T
	ours *os.File
	cmd  *exec.Cmd
	seen string
}

// typing runs a command line on a terminal.
func (i *installer) typing(t *testing.T, editor string, args ...string) *typist {
	t.Helper()
	ours, theirs := terminal(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, i.program, append(args, "-c", i.path)...)
	cmd.Env = append(i.environ(), "MCP_AIO_LANG=en", "NO_COLOR=1", "EDITOR="+editor, "VISUAL=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	must.OK(t, cmd.Start())
	theirs.Close()
	return &typist{t: t, ours: ours, cmd: cmd}
}

// see reads until a text appears.
func (p *typist) see(text string) {
	p.t.Helper()
	buffer := make([]byte, 4096)
	for !strings.Contains(p.seen, text) {
		n, err := p.ours.Read(buffer)
		if err != nil {
			p.t.Fatalf("%v: no %q in %q", err, text, p.seen)
		}
		p.seen += string(buffer[:n])
	}
	p.seen = p.seen[strings.Index(p.seen, text)+len(text):]
}

// answer types a line after a question has appeared.
func (p *typist) answer(question, line string) {
	p.t.Helper()
	p.see(question)
	if _, err := p.ours.WriteString(line + "\n"); err != nil {
		p.t.Fatal(err)
	}
}

// end reads the rest and returns it with the exit code.
func (p *typist) end() (string, int) {
	buffer := make([]byte, 4096)
	for {
		n, err := p.ours.Read(buffer)
		p.seen += string(buffer[:n])
		if err != nil { // the program closed the terminal
			break
		}
	}
	_ = p.cmd.Wait() // the exit code is checked
	return p.seen, p.cmd.ProcessState.ExitCode()
}

// TestInstallAsks answers the questions of add as a user does.
func TestInstallAsks(t *testing.T) {
	t.Parallel()
	bundle, err := filepath.Abs(filepath.Join("..", "install", "testdata", "bundles", "hello.mcpb"))
	if err != nil {
		t.Fatal(err)
	}
	const question = "Install and start it? [y/N/e edit the entry]: "
	t.Run("install/terminal/no", func(t *testing.T) {
		i := newInstaller(t)
		p := i.typing(t, "", "add", bundle, "--arg", "folders="+i.chosen, "--arg", "greeting=hi", "--env", "key=x")
		p.answer(question, "n")
		if text, code := p.end(); !strings.Contains(text, "nothing was installed") || code == 0 {
			t.Errorf("exit code %d: %s", code, text)
		}
		if data, err := os.ReadFile(i.path); err != nil || bytes.Contains(data, []byte("hello")) {
			t.Errorf("%s, %v", data, err)
		}
	})
	t.Run("install/terminal/questions", func(t *testing.T) {
		i := newInstaller(t)
		p := i.typing(t, "", "add", bundle)
		p.answer("folders: ", "")
		p.see("a value is required")
		p.answer("folders: ", "/nowhere/at/all")
		p.see("there is no /nowhere/at/all")
		p.answer("folders: ", i.chosen)
		p.answer("folders: ", "")
		p.answer("greeting [hello]: ", "good day")
		p.answer("key: ", "s3cret")
		p.answer(question, "y")
		text, code := p.end()
		if code != 0 || !strings.Contains(text, "started: hello, 1 tool") || strings.Contains(text, "s3cret") {
			t.Fatalf("exit code %d: %s", code, text)
		}
		data, err := os.ReadFile(i.path)
		if err != nil || bytes.Contains(data, []byte("s3cret")) || !bytes.Contains(data, []byte("--greeting=good day")) {
			t.Errorf("%s, %v", data, err)
		}
		if out, stderr, code := i.run(t, "call", "hello", "hello"); code != 0 || !strings.Contains(out, `"key":"s3cret"`) {
			t.Errorf("exit code %d: %s%s", code, out, stderr)
		}
	})
	t.Run("install/terminal/edit", func(t *testing.T) {
		i := newInstaller(t)
		editor := filepath.Join(i.dir, "editor")
		const program = "#!/bin/sh\nif [ -e \"$0.once\" ]; then sed -i 's/--greeting=hi/--greeting=edited/' \"$1\"; else touch \"$0.once\"; echo 'no JSON' >\"$1\"; fi\n"
		must.Program(t, editor, program)
		p := i.typing(t, editor, "add", bundle, "--arg", "folders="+i.chosen, "--arg", "greeting=hi", "--env", "key=x")
		p.answer(question, "e")
		p.see("the entry is not a JSON object, so it stays as it was")
		p.answer(question, "e")
		p.see("--greeting=edited") // the current entry is shown
		p.answer(question, "y")
		if text, code := p.end(); code != 0 || !strings.Contains(text, "started: hello") {
			t.Fatalf("exit code %d: %s", code, text)
		}
		if data, err := os.ReadFile(i.path); err != nil || !bytes.Contains(data, []byte("--greeting=edited")) {
			t.Errorf("%s, %v", data, err)
		}
	})
	t.Run("install/terminal/looks like another", func(t *testing.T) {
		i := newInstaller(t)
		data := []byte(must.Read(t, i.path))
		const other = "io.github.domdomegg/airtable-mcp-servers"
		data = bytes.Replace(data, []byte(`"mcpServers": {}`), []byte(`"mcpServers": {"mine": {"command": "true", "enabled": false, "origin": {"registry": "work", "name": "`+other+`"}}}`), 1)
		must.Write(t, i.path, data)
		add := []string{"add", "io.github.domdomegg/airtable-mcp-server", "--env", "AIRTABLE_API_KEY=x"}
		p := i.typing(t, "", add...)
		p.answer("its name looks like "+other+", which is installed. Continue anyway? [y/N]: ", "n")
		if text, code := p.end(); !strings.Contains(text, "nothing was installed") || code == 0 {
			t.Errorf("exit code %d: %s", code, text)
		}
		p = i.typing(t, "", add...)
		p.answer("Continue anyway? [y/N]: ", "y")
		p.answer(question, "n")
		if text, code := p.end(); !strings.Contains(text, "nothing was installed") || code == 0 {
			t.Errorf("exit code %d: %s", code, text)
		}
	})
}
