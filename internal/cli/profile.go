package cli

import (
	"fmt"
	"os"
	"runtime/pprof"

	"mcp-all-in-one/internal/env"
)

// profileVariable names a file for a CPU profile of the whole run. It is for
// developers of the program.
const profileVariable = "MCP_AIO_CPUPROFILE"

// profile starts a CPU profile if one is requested. The returned function stops
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
