package test

import (
	"os"
	"path/filepath"
	"testing"

	"mcp-all-in-one/internal/tester/suite"
)

// TestHelpShowsATestFile reads the test file that the help of test shows.
func TestHelpShowsATestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "help.yaml")
	if err := os.WriteFile(path, []byte(suiteFormat), 0o600); err != nil {
		t.Fatal(err)
	}
	suite, err := suite.ReadSuite(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(suite.Tests) != 1 || suite.Target != "github" || suite.Tests[0].Expect.Sent == nil || suite.Tests[0].Expect.Snapshot == nil {
		t.Errorf("it was read as %+v", suite)
	}
}
