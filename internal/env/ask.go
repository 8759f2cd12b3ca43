package env

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
)

// LoadToAsk reads the configuration for a command that lists or calls. Without
// any server it adds the demo server, as http does, and prints a note.
func (a *Env) LoadToAsk() (*config.Config, error) {
	cfg, demo, err := a.LoadWithDemo()
	if demo {
		SayDemo(a, a.Stderr)
	}
	return cfg, err
}

// SayDemo prints that the demo server runs because no server is configured.
func SayDemo(a *Env, w io.Writer) {
	fmt.Fprintln(w, a.T("no server is configured, so a demo server runs; add one with: mcp-all-in-one add NAME -- COMMAND",
		"尚未配置服务器，因此运行演示服务器；添加服务器：mcp-all-in-one add NAME -- COMMAND"))
}

// DemoAlone returns a configuration with only the demo server. It is called when
// the user names the demo server and loading failed with err. It applies if the
// user has no config file; a file of the working tree may exist, but is not read.
// Otherwise it returns err.
func DemoAlone(a *Env, err error) (*config.Config, error) {
	var missing *problem.LoadError
	if a.ConfigPath != "" || !a.WantsDemo() || !errors.As(err, &missing) || !missing.Has("AIO2001") {
		return nil, err
	}
	cfg, err := config.Check("", []byte(`{"mcpServers":{}}`), a.LoadOptions(false))
	if err == nil && AddDemo(cfg) {
		SayDemo(a, a.Stderr)
	}
	return cfg, err
}

func (a *Env) LoadWithDemo() (cfg *config.Config, demo bool, err error) {
	if cfg, err = a.Load(false); err != nil {
		if cfg, err = emptyConfig(a, err); err != nil {
			return nil, false, err
		}
	}
	return cfg, a.WantsDemo() && AddDemo(cfg), nil
}

// emptyConfig returns an empty configuration for a new user: no file was named and none
// exists. Otherwise it returns the error of loading.
func emptyConfig(a *Env, err error) (*config.Config, error) {
	var missing *problem.LoadError
	if a.ConfigPath != "" || !a.WantsDemo() || !errors.As(err, &missing) || !missing.Has("AIO2001") {
		return nil, err
	}
	found, _ := config.Discover(a.LoadOptions(false)) // the error is the one we already have
	if len(found.Tried) == 0 || len(found.Skipped) > 0 {
		return nil, err
	}
	return config.Check(found.Tried[0], []byte(`{"mcpServers":{}}`), a.LoadOptions(false))
}

// Ask reads one line from the terminal. It returns early when ctx is done.
func (a *Env) Ask(ctx context.Context, label string) (string, error) {
	fmt.Fprintf(a.Stderr, "  %s: ", label)
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() { // ends with the line: a read from a terminal cannot be cancelled
		text, err := a.Lines().ReadString('\n')
		if text != "" {
			err = nil
		}
		lines <- line{strings.TrimRight(text, "\r\n"), err}
	}()
	select {
	case l := <-lines:
		return l.text, l.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

var stdinLines struct {
	sync.Mutex
	of     io.Reader
	reader *bufio.Reader
}

// Lines returns a reader of stdin. Buffered input is kept between questions.
func (a *Env) Lines() *bufio.Reader {
	stdinLines.Lock()
	defer stdinLines.Unlock()
	if stdinLines.reader == nil || stdinLines.of != a.Stdin {
		stdinLines.of, stdinLines.reader = a.Stdin, bufio.NewReader(a.Stdin)
	}
	return stdinLines.reader
}

// WantsDemo reports whether a gateway without any server gets the demo server.
func (a *Env) WantsDemo() bool {
	return a.Personality.Own || a.Personality.Config == config.MCPTester
}

// DemoServer is the name of the server that is used if none is configured.
const DemoServer = "demo"

// AddDemo adds the demo server to a configuration without any server.
func AddDemo(cfg *config.Config) bool {
	exe, err := os.Executable()
	if err != nil || HasServers(cfg) {
		return false
	}
	server := config.NewServer(DemoServer)
	server.Schema, server.Type, server.Command, server.Args = config.DefaultSchema, config.TypeStdio, exe, []string{"demo"}
	schema := cfg.Schema(config.DefaultSchema)
	if schema == nil {
		schema = config.NewSchema(config.DefaultSchema)
		cfg.Schemas = append(cfg.Schemas, schema)
	}
	schema.Servers = append(schema.Servers, server)
	return true
}

func HasServers(cfg *config.Config) bool {
	return slices.ContainsFunc(cfg.Schemas, func(s *config.Schema) bool { return len(s.Servers) > 0 })
}

// ShowsDemo reports whether a gateway that runs with our config file has only
// the demo server.
func ShowsDemo(a *Env) bool {
	cfg, err := a.Load(false)
	var missing *problem.LoadError
	return a.WantsDemo() && (err == nil && !HasServers(cfg) || errors.As(err, &missing) && missing.Has("AIO2001"))
}
