package mcp

import (
	"runtime"
	"runtime/debug"
)

// ProductVersion is the version of this product and its only source: archives,
// packages and images take it from here. The extension for VS Code has its own
// version in its package.json. It is a variable so that a test can build a
// program of another version without recompiling it.
var ProductVersion = "1.0.0"

// commit and date are set by the Makefile and by a release, with -ldflags -X:
// the only way that works in every clone, worktree and source archive.
var commit, date string

// A Build describes the source of a binary. A binary from plain go build has
// neither commit nor date, unless the compiler recorded them.
type Build struct {
	Commit string // the hash, with "+changes" when files differed from it
	Date   string // of the commit, RFC 3339
	Go     string // version of the compiler
}

// ThisBuild returns the Build of this program.
func ThisBuild() Build {
	b := Build{Commit: commit, Date: date, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok || commit != "" {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		}
	}
	return b
}
