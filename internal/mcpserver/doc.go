// Package mcpserver is a small MCP server of both eras. The demo and mock
// commands serve it, and tests use it as a peer.
//
// Nothing here is scripted: a Server really negotiates, pages, asks, reports
// progress and cancels. The package decodes JSON with the standard library on
// purpose: to tests it is the other side, not a second user of the code under
// test.
package mcpserver
