// Package mcptest is test support: servers of the sample configs, a hostile
// one, raw clients, the contract that every transport keeps, and a harness that
// runs the product's binary.
package mcptest
