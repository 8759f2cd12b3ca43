// Package mcpserver is a small MCP server of both eras. The demo and mock
// commands serve it, and tests use it as a peer.
//
// Nothing here is scripted: a Server really negotiates, pages, asks, reports
// progress and cancels. The package deliberately decodes JSON with the standard
// library: for tests it is the peer, not a second user of the code under test.
package mcpserver
