package mcptest

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// builds holds the binaries of this test process; each is built at most once.
var builds struct {
	sync.Mutex
	paths map[string]string
}

// Build returns the path of the fakeserver binary.
func Build(t testing.TB) string {
	t.Helper()
	return buildPackage(t, "./internal/mcptest/cmd/fakeserver")
}

// BuildProduct returns the path of the product's binary.
func BuildProduct(t testing.TB) string {
	t.Helper()
	return buildPackage(t, ".")
}

// BuildWire returns the path of the product's binary as a release with other formats
// between replicas.
func BuildWire(t testing.TB, wire int) string {
	t.Helper()
	return buildOnce(t, fmt.Sprint("mcp-all-in-one-wire-", wire), func(out string) *exec.Cmd {
		return exec.Command("go", "build", fmt.Sprintf("-ldflags=-s -w -X mcp-all-in-one/internal/cluster.wire=%d", wire), "-o", out, ".")
	})
}

// coverDir is the environment variable with the folder for coverage data of the
// binaries that tests run.
const coverDir = "MCPTEST_COVERDIR"

// CoverDir returns the folder in which the binaries that tests run store
// coverage data; empty if coverage is off. It cannot be GOCOVERDIR itself: go
// test sets that variable for the test's own process.
func CoverDir() string { return os.Getenv(coverDir) }

// buildPackage compiles a main package of this module.
func buildPackage(t testing.TB, pkg string) string {
	t.Helper()
	name := filepath.Base(pkg)
	if pkg == "." {
		name = "mcp-all-in-one"
	}
	return buildOnce(t, name, func(out string) *exec.Cmd {
		args := []string{"build", "-ldflags=-s -w", "-o", out} // as in a release; it links in half the time
		if CoverDir() != "" {
			args = append(args, "-cover", "-coverpkg=./...") // nothing is written unless package main is included
		}
		return exec.Command("go", append(args, pkg)...)
	})
}

// buildOnce compiles a program with a command, which runs in the folder of this
// module unless it sets another one. The binary stays in a folder that all test
// processes of this working tree share: go build links only if it is out of date,
// and replaces it by renaming, so that a running one is not disturbed.
func buildOnce(t testing.TB, name string, command func(out string) *exec.Cmd) string {
	t.Helper()
	builds.Lock()
	defer builds.Unlock()
	if path, ok := builds.paths[name]; ok {
		return path
	}
	path, err := compile(name, command)
	if err != nil {
		t.Fatalf("building %s: %v", name, err)
	}
	if builds.paths == nil {
		builds.paths = map[string]string{}
	}
	builds.paths[name] = path
	return path
}

func compile(name string, command func(out string) *exec.Cmd) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("mcp-all-in-one-test-%x", crc32.ChecksumIEEE([]byte(root))))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	cmd := command(path)
	if cmd.Dir == "" {
		cmd.Dir = root
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
}

// Root returns the folder of this module.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(data), "module mcp-all-in-one\n") {
			return dir, nil
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		return "", errors.New("no go.mod of this module above the working directory")
	}
}
