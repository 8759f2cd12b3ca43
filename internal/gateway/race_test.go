//go:build race

package gateway_test

// The race detector makes pools forget a part of what they hold.
const copies = 8
