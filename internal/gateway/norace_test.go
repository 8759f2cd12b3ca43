//go:build !race

package gateway_test

const copies = 5
