// Package mcptest supports tests: the servers of the sample configs, a hostile
// server, raw clients, the contract of all transports, and a harness that runs
// the product's binary.
package mcptest
