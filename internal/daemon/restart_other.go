//go:build !unix

package daemon

const restarts = false

func startAgain() error { return nil }
