//go:build race

package gateway_test

// The race detector makes pools drop some of their items.
const copies = 8
