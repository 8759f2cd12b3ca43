package cli

import (
	"fmt"
	"os"
	"runtime/pprof"

	"mcp-all-in-one/internal/env"
)

// profileVariable names a file that a CPU profile of the whole run is written
// to. It is for those who work on the program.
const profileVariable = "MCP_AIO_CPUPROFILE"

// profile starts a CPU profile where one is asked for and returns what ends
// it.
func profile(a *env.Env) func() {
	path, ok := a.Getenv(profileVariable)
	if !ok || path == "" {
		return func() {}
	}
	file, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		fmt.Fprintf(a.Stderr, "%s: %s\n", profileVariable, a.Lang.Of(err))
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		file.Close()
	}
}
