package edit

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
)

// write puts a file into a fresh directory and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// options are those of a user without environment and home.
func options(t *testing.T, path string, env map[string]string) config.LoadOptions {
	t.Helper()
	return config.LoadOptions{
		Path: path, Home: t.TempDir(), WorkDir: t.TempDir(), System: t.TempDir(),
		LookupEnv: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	}
}

func mustLoad(t *testing.T, name, content string, env map[string]string) *config.Config {
	t.Helper()
	cfg, err := config.Load(options(t, write(t, name, content), env))
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return cfg
}

func problemOf(t *testing.T, err error, code string) problem.Problem {
	t.Helper()
	var le *problem.LoadError
	if !errors.As(err, &le) {
		t.Fatalf("error = %v, want a LoadError with %s", err, code)
	}
	for _, p := range le.Problems {
		if p.Code == code && p.Severity == problem.SeverityError {
			return p
		}
	}
	t.Fatalf("no %s among:\n%v", code, le)
	return problem.Problem{}
}

// warned returns the problem of that code that did not stop the load.
func warned(t *testing.T, cfg *config.Config, code string) problem.Problem {
	t.Helper()
	for _, p := range cfg.Problems {
		if p.Code == code {
			return p
		}
	}
	t.Fatalf("no %s among %v", code, cfg.Problems)
	return problem.Problem{}
}

// put writes a file with its directories.
func put(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const emptyFile = `{"mcpServers": {}}`

const corpusDir = "../../../testdata/corpus/C"
