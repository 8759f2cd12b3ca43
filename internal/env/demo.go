package env

import (
	"errors"
	"os"
	"slices"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
)

// WantsDemo says whether a gateway without any server gets the demo server.
func (a *Env) WantsDemo() bool {
	return a.Personality.Own || a.Personality.Config == config.MCPTester
}

// DemoServer is the name of the server that stands in where none is configured.
const DemoServer = "demo"

// AddDemo gives a gateway without any server something to show.
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

// ShowsDemo says whether a gateway that runs with our file has only the demo
// server to show.
func ShowsDemo(a *Env) bool {
	cfg, err := a.Load(false)
	var missing *problem.LoadError
	return a.WantsDemo() && (err == nil && !HasServers(cfg) || errors.As(err, &missing) && missing.Has("AIO2001"))
}
