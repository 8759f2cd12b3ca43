package env

import (
	"errors"
	"os"
	"slices"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
)

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
