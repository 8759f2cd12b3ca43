// Package mcptest is test support: small working MCP servers of each era, a
// hostile one, the contract that every transport keeps, and a harness that
// runs the product's binary.
//
// Nothing here is scripted. A Server really negotiates, pages, asks, reports
// progress and cancels; that is why the product serves one as its demo. The
// package decodes JSON with the standard library on purpose: it is a peer, not
// a second user of the code under test.
package mcptest

import "context"

// TB is what the harness needs of a *testing.T, stated here so that the
// product, which serves the demo, does not link package testing.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	Cleanup(func())
	TempDir() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
}
