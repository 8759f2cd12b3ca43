package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/jsonrpc"
)

// scriptCommands are the additional commands of scripts.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"status":  scriptStatus,
	"gateway": scriptGateway,
	"quit":    scriptQuit,
	"fetch":   scriptFetch,
	"control": scriptControl,
}

// scriptPatience is the time limit for a condition in a script.
const scriptPatience = 20 * time.Second

// scriptStatus runs a program and checks its exit code: status 2 mcp-all-in-one
// list. The output is in the files out and err, for grep.
func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	cmd := programOf(ts, args[1:])
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(""), &out, &errs
	if in, err := os.ReadFile(ts.MkAbs("in")); err == nil {
		cmd.Stdin = bytes.NewReader(in)
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		ts.Fatalf("running %s: %v", args[1], err)
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), out.Bytes(), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("err"), errs.Bytes(), 0o600))
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", got, want, out.String(), errs.String())
	}
}

// programOf returns a command with the environment of the script.
func programOf(ts *testscript.TestScript, args []string) *exec.Cmd {
	path := ""
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if info, err := os.Stat(dir + "/" + args[0]); err == nil && !info.IsDir() {
			path = dir + "/" + args[0]
			break
		}
	}
	if path == "" {
		ts.Fatalf("no program %s", args[0])
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "PATH", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "MCP_AIO_LANG", "NO_COLOR", "TMPDIR", "LANG", "EDITOR", "BROWSED", "GOCOVERDIR"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// A watched is an output buffer that can be searched while it grows.
type watched struct {
	mu   sync.Mutex
	text bytes.Buffer
	grew chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.text.Write(p)
	w.mu.Unlock()
	select {
	case w.grew <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// find waits until the output matches.
func (w *watched) find(re *regexp.Regexp, ended <-chan struct{}) (string, error) {
	deadline := time.After(scriptPatience)
	for {
		if m := re.FindString(w.String()); m != "" {
			return m, nil
		}
		select {
		case <-w.grew:
		case <-ended:
			if m := re.FindString(w.String()); m != "" {
				return m, nil
			}
			return "", fmt.Errorf("the program ended:\n%s", w)
		case <-deadline:
			return "", fmt.Errorf("no %v in:\n%s", re, w)
		}
	}
}

// A background is the gateway of a script.
type background struct {
	cmd   *exec.Cmd
	out   *watched
	ended chan struct{}
}

var (
	backgrounds     sync.Map // *testscript.TestScript -> *background
	listening       = regexp.MustCompile(`http://[0-9a-zA-Z.:\[\]]+:[0-9]+`)
	configuredCount = regexp.MustCompile(`servers +[0-9]+`)
)

// scriptGateway runs a program in the background, waits until it listens and
// its servers have started, and sets $URL.
func scriptGateway(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: gateway PROGRAM [ARG...]")
	}
	b := &background{cmd: programOf(ts, args), out: &watched{grew: make(chan struct{}, 1)}, ended: make(chan struct{})}
	b.cmd.Stdout, b.cmd.Stderr = b.out, b.out
	ts.Check(b.cmd.Start())
	go func() {
		b.cmd.Wait()
		close(b.ended)
	}()
	ts.Defer(func() { b.end() })
	backgrounds.Store(ts, b)
	url, err := b.out.find(listening, b.ended)
	ts.Check(err)
	servers, err := b.out.find(configuredCount, b.ended)
	ts.Check(err)
	count, err := strconv.Atoi(strings.Fields(servers)[1])
	ts.Check(err)
	// All servers have started or failed.
	_, err = b.out.find(regexp.MustCompile(`(?s)`+strings.Repeat(`(✅|❌|○) .*`, count)), b.ended)
	ts.Check(err)
	ts.Setenv("URL", url)
}

func (b *background) end() {
	b.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-b.ended:
	case <-time.After(scriptPatience):
		b.cmd.Process.Kill()
		<-b.ended
	}
}

// scriptQuit ends the gateway and writes its output to the file log.
func scriptQuit(ts *testscript.TestScript, _ bool, args []string) {
	v, ok := backgrounds.Load(ts)
	if !ok {
		ts.Fatalf("no gateway is running")
	}
	b := v.(*background)
	b.end()
	ts.Check(os.WriteFile(ts.MkAbs("log"), []byte(b.out.String()), 0o600))
	want := 0
	if len(args) > 0 {
		want, _ = strconv.Atoi(args[0])
	}
	if got := b.cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("the gateway ended with %d\n%s", got, b.out)
	}
}

// scriptControl sends a request to the control socket of the gateway: control
// PATH [BODY]. The response is in the file answer; $ID is the id in it.
func scriptControl(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: control PATH [BODY]")
	}
	sockets, err := filepath.Glob(filepath.Join(ts.Getenv("XDG_RUNTIME_DIR"), "mcp-all-in-one", "*.sock"))
	ts.Check(err)
	if len(sockets) != 1 {
		ts.Fatalf("%d gateways are running", len(sockets))
	}
	var answer json.RawMessage
	if len(args) == 1 {
		ts.Check(control.Dial(sockets[0]).Get(context.Background(), args[0], &answer))
	} else {
		ts.Check(control.Dial(sockets[0]).Post(context.Background(), args[0], json.RawMessage(args[1]), &answer))
	}
	ts.Check(os.WriteFile(ts.MkAbs("answer"), answer, 0o600))
	if id, ok := jsonrpc.GetString(answer, "id"); ok {
		ts.Setenv("ID", id)
	}
}

// scriptFetch sends an HTTP request: fetch STATUS PATH [BODY [HEADER...]]. The
// response is in the file answer.
func scriptFetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fetch STATUS PATH [BODY [HEADER...]]")
	}
	method, body := http.MethodGet, ""
	if len(args) > 2 && args[2] != "" {
		method, body = http.MethodPost, args[2]
	}
	req, err := http.NewRequest(method, ts.Getenv("URL")+args[1], strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	for _, h := range args[min(3, len(args)):] {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	client := http.Client{Timeout: scriptPatience}
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), answer, 0o600))
	if got := strconv.Itoa(resp.StatusCode); got != args[0] {
		ts.Fatalf("status %s, want %s: %s", got, args[0], answer)
	}
}
