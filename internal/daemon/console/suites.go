package console

import (
	"context"
	"os"
	"path/filepath"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/suite"
	"mcp-all-in-one/internal/web/bench"
	"mcp-all-in-one/internal/web/suites"
)

// suiteDir returns the folder of the test files: mcp-tests in the working
// directory, like the command test, else next to the config file.
func suiteDir(in *instance.Instance) string {
	if dir, err := filepath.Abs("mcp-tests"); err == nil {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	if in.Config.Path == "" {
		return filepath.Join(folders.StateDir(), "mcp-tests")
	}
	return filepath.Join(filepath.Dir(in.Config.Path), "mcp-tests")
}

// suiteOptions returns the source with which the console runs test files.
func suiteOptions(in *instance.Instance) suites.Source {
	return suites.Source{Dir: suiteDir(in), Open: func(ctx context.Context, who access.Principal, s *suite.Suite, answers *suite.TestAnswers) (*probe.Session, error) {
		return (&consoleBench{in}).open(ctx, who, suiteTarget(in, who, s), probe.Options{Protocol: s.Protocol, Answer: answers})
	}}
}

// suiteTarget returns the target of a test file as a target of the console: a
// configured server or all of them, through this gateway, or a URL or a
// command.
func suiteTarget(in *instance.Instance, who access.Principal, s *suite.Suite) *bench.Target {
	t := &bench.Target{URL: s.URL, Headers: expanded(s.Headers), Env: expanded(s.Env), Protocol: s.Protocol}
	if argv := s.Argv(); len(argv) > 0 {
		t.Command, t.Args = argv[0], argv[1:]
	}
	if s.Target != "" {
		t.Via = bench.ViaGateway
	}
	if s.Target != "" && s.Target != "." {
		t.Server, t.Schema = s.Target, config.DefaultSchema
		for _, schema := range in.Set.Snapshot().Config.Schemas {
			if schema.Server(s.Target) != nil && who.MaySee(schema.Name, s.Target, "") {
				t.Schema = schema.Name
				break
			}
		}
	}
	return t
}

func expanded(values map[string]string) map[string]string {
	out := make(map[string]string, len(values))
	for name, v := range values {
		out[name] = os.ExpandEnv(v)
	}
	return out
}
