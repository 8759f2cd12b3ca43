// Package lazy compiles regular expressions when they are first used. The
// program is started often, for each script and each command, and uses few of
// its expressions each time.
package lazy

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp returns a function that compiles expr at its first call. It panics if
// expr does not parse; in tests it does so at once.
func Regexp(expr string) func() *regexp.Regexp {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
	if strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test") {
		compiled()
	}
	return compiled
}
