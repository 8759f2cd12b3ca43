package test

import (
	"path/filepath"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/tester/suite"
)

// TestHelpShowsATestFile parses the test file in the help of test.
func TestHelpShowsATestFile(t *testing.T) {
	path := must.Write(t, filepath.Join(t.TempDir(), "help.yaml"), suiteFormat)
	suite, err := suite.ReadSuite(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(suite.Tests) != 1 || suite.Target != "github" || suite.Tests[0].Expect.Sent == nil || suite.Tests[0].Expect.Snapshot == nil {
		t.Errorf("it was read as %+v", suite)
	}
}

// TestHelpShowsEvals parses the test file in the help of eval.
func TestHelpShowsEvals(t *testing.T) {
	s, err := suite.ParseSuite("help.yaml", []byte(evalFormat))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Evals) != 3 || s.Model.Key == "" || len(s.Evals[1].Expect.All()) != 2 || !s.Evals[2].Expect.None {
		t.Errorf("it was read as %+v", s)
	}
}
