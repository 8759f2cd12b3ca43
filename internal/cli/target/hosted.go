package target

import (
	"context"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"

	"github.com/spf13/cobra"
)

// Alone is the name of a server that the command line gives by its URL.
const Alone = "server"

// Hosted is the target of a command that only a gateway can answer: all
// configured servers, one of them, or a server at a URL, which is called Alone.
func Hosted(ctx context.Context, a *env.Env, cmd *cobra.Command, f *Flags, server, url string) (*Target, error) {
	switch {
	case server != "" && url != "":
		return nil, command.UsageError(a, cmd, a.T("give --server or --url, not both", "--server 与 --url 只能给一个"))
	case url != "":
		return hostedURL(a, f, url)
	case server == "":
		return TargetWord(ctx, a, f, ".", nil)
	}
	m, err := TargetWord(ctx, a, f, server, nil)
	if err != nil {
		return nil, err
	}
	if m.Server == nil || m.Server.Name != server {
		return nil, command.UsageError(a, cmd, a.T("--server takes the name of a configured server", "--server 需要已配置服务的名称"))
	}
	m.hosted = true
	return m, nil
}

// hostedURL is a gateway of our own with the server at a URL.
func hostedURL(a *env.Env, f *Flags, url string) (*Target, error) {
	at, err := TargetURL(a, f, url, nil)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Check("", []byte(`{"mcpServers":{}}`), a.LoadOptions(false))
	if err != nil {
		return nil, err
	}
	s := config.NewServer(Alone)
	s.Schema, s.URL, s.Type = config.DefaultSchema, at.Probe.URL, at.Probe.Type
	s.Headers = make(map[string]config.Secret)
	for name := range at.Probe.Header {
		s.Headers[name] = config.Secret(at.Probe.Header.Get(name))
	}
	f.Direct = true // no gateway that runs has it
	m := &Target{Label: url, Server: s, schema: config.DefaultSchema, cfg: cfg, hosted: true}
	m.Probe.Secrets = at.Probe.Secrets
	return m, nil
}

// onlyServer is the configuration with the one server of the target.
func (m *Target) onlyServer() *config.Config {
	cfg := *m.cfg
	schema := *config.NewSchema(m.schema)
	if known := cfg.Schema(m.schema); known != nil {
		schema = *known
	}
	schema.Servers = []*config.Server{m.Server}
	cfg.Schemas = []*config.Schema{&schema}
	return &cfg
}
