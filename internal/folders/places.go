// Package folders returns the folders of the gateway's files.
package folders

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"mcp-all-in-one/internal/disk"
)

// Places are the folders of the gateway's files. A folder that is not known is
// empty: a folder that depends on the working directory cannot be trusted.
type Places struct {
	GOOS   string                      // "" is this program's
	Getenv func(string) (string, bool) // nil is os.LookupEnv
	Home   string                      // the user's; "" when there is none
}

// StateDir returns the state folder of this process. Without a home directory it
// is a temporary folder that belongs to this user.
func StateDir() string {
	if dir := (Places{Home: Home()}).State(); dir != "" {
		return dir
	}
	dir := filepath.Join(os.TempDir(), "mcp-all-in-one-"+strconv.Itoa(os.Getuid()))
	_ = os.Mkdir(dir, 0o700) // it may exist; its owner is checked below
	if info, err := os.Lstat(dir); err == nil && info.IsDir() && disk.WritableByOthers(dir, info).Empty() {
		return dir
	}
	return stray()
}

// stray returns a temporary folder of this process alone.
var stray = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "mcp-all-in-one-*")
	if err != nil {
		return filepath.Join(os.DevNull, "mcp-all-in-one") // every use fails with an error
	}
	return dir
})

// Home returns the user's home directory; "" if it is not known.
func Home() string {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return home
}

// UserDir returns the directory of the user's config file, secrets and approvals;
// "" if there is none.
func UserDir(home string) string {
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".mcp-all-in-one")
}

func (p Places) windows() bool {
	return p.GOOS == "windows" || p.GOOS == "" && runtime.GOOS == "windows"
}

// System returns the folder of the config file for the whole machine.
func (p Places) System() string {
	if !p.windows() {
		return "/etc/mcp-all-in-one"
	}
	return p.under("ProgramData")
}

// Config returns the user's folder for configuration.
func (p Places) Config() string {
	if dir := p.under("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	if p.windows() {
		return p.under("APPDATA")
	}
	return p.inHome(".config")
}

// State returns the user's folder for state; it may be removed at any time.
func (p Places) State() string {
	if dir := p.under("XDG_STATE_HOME"); dir != "" {
		return dir
	}
	if p.windows() {
		return p.under("LOCALAPPDATA")
	}
	return p.inHome(".local", "state")
}

// under returns the gateway's folder below the folder in an environment
// variable.
func (p Places) under(name string) string {
	getenv := p.Getenv
	if getenv == nil {
		getenv = os.LookupEnv
	}
	dir, ok := getenv(name)
	if !ok || !p.isAbs(dir) {
		return ""
	}
	return p.join(dir, "mcp-all-in-one")
}

func (p Places) inHome(names ...string) string {
	if p.Home == "" {
		return ""
	}
	return p.join(append(append([]string{p.Home}, names...), "mcp-all-in-one")...)
}

// isAbs reports whether a path does not depend on the working directory. On
// Windows a path that begins with \ depends on the current drive.
func (p Places) isAbs(path string) bool {
	if !p.windows() {
		return strings.HasPrefix(path, "/")
	}
	if strings.HasPrefix(path, `\\`) {
		return true
	}
	return len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
}

func (p Places) join(parts ...string) string {
	if p.windows() {
		return strings.TrimRight(parts[0], `\/`) + `\` + strings.Join(parts[1:], `\`)
	}
	return filepath.Join(parts...)
}
