package target

import (
	"context"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/probe"

	"github.com/spf13/cobra"
)

// Alone is the name of a server that the command line gives by URL.
const Alone = "server"

// Hosted returns the target of a command that only a gateway can answer: all
// configured servers, one of them, or a server at a URL, which is named Alone.
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
		return nil, command.UsageError(a, cmd, a.T("--server takes the name of a configured server", "--server 需要已配置服务器的名称"))
	}
	m.hosted = true
	return m, nil
}

// hostedURL returns a gateway in this process with the server at a URL.
func hostedURL(a *env.Env, f *Flags, url string) (*Target, error) {
	m, err := TargetURL(a, f, url, nil)
	if err != nil {
		return nil, err
	}
	return m, m.host(a, f)
}

// host puts a gateway in this process in front of a target that is not
// configured.
func (m *Target) host(a *env.Env, f *Flags) error {
	s, err := m.AsServer(a, f, Alone)
	if err != nil {
		return err
	}
	if m.cfg, err = config.Check("", []byte(`{"mcpServers":{}}`), a.LoadOptions(false)); err != nil {
		return err
	}
	f.Direct = true // no running gateway has this server
	m.Server, m.schema, m.hosted = s, config.DefaultSchema, true
	m.Probe = probe.Target{Secrets: m.Probe.Secrets}
	return nil
}

// AsServer returns a target that is not configured as an entry of a config
// file.
func (m *Target) AsServer(a *env.Env, f *Flags, name string) (*config.Server, error) {
	s := config.NewServer(name)
	s.Schema = config.DefaultSchema
	s.Command, s.Args, s.Cwd, s.URL, s.Type = m.Probe.Command, m.Probe.Args, m.Probe.Cwd, m.Probe.URL, m.Probe.Type
	s.Headers = make(map[string]config.Secret)
	for name := range m.Probe.Header {
		s.Headers[name] = config.Secret(m.Probe.Header.Get(name))
	}
	if s.Command != "" {
		s.Type, s.InheritEnv.All = config.TypeStdio, true
	}
	variables, _, err := f.Environment(a)
	if err != nil {
		return nil, err
	}
	s.Env = cloneSecrets(nil, variables)
	return s, nil
}

// Hosting returns the configuration of a gateway that has only the target, and
// the schema of the target.
func (m *Target) Hosting(a *env.Env, f *Flags) (*config.Config, string, error) {
	if m.like != nil {
		return nil, "", env.Fail(env.ExitUsage, env.CodeUsage, a.T("give a configured name, a URL, . or -- COMMAND", "请使用已配置的名称、URL、. 或 -- 命令"),
			"%s", a.T("a connected client is no target for this", "不能以已连接的客户端为目标"))
	}
	if m.cfg == nil {
		if err := m.host(a, f); err != nil {
			return nil, "", err
		}
	}
	if m.Server != nil {
		return m.onlyServer(), m.schema, nil
	}
	cfg := *m.cfg
	cfg.Schemas = []*config.Schema{cfg.Schema(m.schema)}
	return &cfg, m.schema, nil
}

// scripts reports whether the target is an entry of stored scripts. A gateway
// runs them, and they call its other servers.
func (m *Target) scripts() bool { return m.Server != nil && m.Server.Type == config.TypeScripts }

// onlyServer returns the configuration with only the server of the target. For
// stored scripts it returns all servers, because the scripts call them.
func (m *Target) onlyServer() *config.Config {
	cfg := *m.cfg
	if m.scripts() {
		return &cfg
	}
	schema := *config.NewSchema(m.schema)
	if known := cfg.Schema(m.schema); known != nil {
		schema = *known
	}
	schema.Servers = []*config.Server{m.Server}
	cfg.Schemas = []*config.Schema{&schema}
	return &cfg
}
