// Package configtest writes and loads config files for tests.
package configtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
)

// Write writes a file into a new directory and returns its path.
func Write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Options returns the options of a user with an empty home directory and only
// the variables in env.
func Options(t testing.TB, path string, env map[string]string) config.LoadOptions {
	t.Helper()
	return config.LoadOptions{
		Path: path, Home: t.TempDir(), WorkDir: t.TempDir(), System: t.TempDir(),
		LookupEnv: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
	}
}

// MustLoad loads a file with that content.
func MustLoad(t testing.TB, name, content string, env map[string]string) *config.Config {
	t.Helper()
	cfg, err := config.Load(Options(t, Write(t, name, content), env))
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return cfg
}

// ProblemOf returns the error with that code from a refused load.
func ProblemOf(t testing.TB, err error, code string) problem.Problem {
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

// Warned returns the problem with that code that did not prevent the load.
func Warned(t testing.TB, cfg *config.Config, code string) problem.Problem {
	t.Helper()
	for _, p := range cfg.Problems {
		if p.Code == code {
			return p
		}
	}
	t.Fatalf("no %s among %v", code, cfg.Problems)
	return problem.Problem{}
}

// Put writes a file and its directories, and returns its path.
func Put(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
