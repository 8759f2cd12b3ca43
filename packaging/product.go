// Command packaging makes a release: it builds the binaries of all platforms
// and makes archives, packages, images and manifests from them, in one folder.
// The same commit gives the same bytes.
package main

import (
	"os/exec"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/upgrade"
)

const (
	name    = "mcp-all-in-one"
	home    = "https://github.com/mcp-all-in-one/mcp-all-in-one"
	summary = "Many MCP servers as one, in every protocol version"
	about   = "One static binary that merges many MCP servers into one, serves them over stdio and HTTP in every published protocol version, and tests any MCP server from the command line or the browser."
	licence = "MIT"
	author  = "The mcp-all-in-one authors"
	mail    = "mcp-all-in-one@users.noreply.github.com"
	// registryName is the name in the MCP registry.
	registryName = "io.github.mcp-all-in-one/mcp-all-in-one"
	image        = "ghcr.io/mcp-all-in-one/mcp-all-in-one"
	// releaseKey is the minisign public key for the signature of SHA256SUMS,
	// which make release-sign creates. A program without it cannot replace
	// itself with upgrade. To make a pair: minisign -G -W -p release.pub -s
	// release.key
	releaseKey = ""
)

var version = mcp.ProductVersion

// oldNames are the other names of the binary.
var oldNames = []string{"mcps-proxy", "mcps_proxy", "mcpx", "mcpx-sse", "mcp-tester"}

// A target is a platform, with its names in the package formats; an empty name
// means that the format does not support it.
type target struct {
	goos, goarch string
	npm          string   // process.platform-process.arch
	wheels       []string // platform tags
	linux        string   // nfpm's name of the architecture
	vsix         []string // VS Code's names of the platform
}

var targets = []target{
	{"linux", "amd64", "linux-x64", []string{"manylinux_2_17_x86_64", "musllinux_1_1_x86_64"}, "amd64", []string{"linux-x64", "alpine-x64"}},
	{"linux", "arm64", "linux-arm64", []string{"manylinux_2_17_aarch64", "musllinux_1_1_aarch64"}, "arm64", []string{"linux-arm64", "alpine-arm64"}},
	{"linux", "riscv64", "linux-riscv64", []string{"manylinux_2_31_riscv64", "musllinux_1_2_riscv64"}, "riscv64", nil},
	{"linux", "arm", "linux-arm", []string{"manylinux_2_17_armv7l", "musllinux_1_1_armv7l"}, "arm7", []string{"linux-armhf"}},
	{"linux", "386", "linux-ia32", []string{"manylinux_2_17_i686", "musllinux_1_1_i686"}, "386", nil},
	{"darwin", "amd64", "darwin-x64", []string{"macosx_12_0_x86_64"}, "", []string{"darwin-x64"}},
	{"darwin", "arm64", "darwin-arm64", []string{"macosx_12_0_arm64"}, "", []string{"darwin-arm64"}},
	{"windows", "amd64", "win32-x64", []string{"win_amd64"}, "", []string{"win32-x64"}},
	{"windows", "arm64", "win32-arm64", []string{"win_arm64"}, "", []string{"win32-arm64"}},
}

// String returns the platform as it appears in file names.
func (t target) String() string { return upgrade.Platform(t.goos, t.goarch) }

// program returns the name of the binary.
func (t target) program() string {
	if t.goos == "windows" {
		return name + ".exe"
	}
	return name
}

// archive returns the name of the archive.
func (t target) archive() string {
	if t.goos == "windows" {
		return name + "-" + version + "-" + t.String() + ".zip"
	}
	return name + "-" + version + "-" + t.String() + ".tar.gz"
}

// commitTime returns the time of the commit, which is the time of every file in
// a release.
func commitTime(root string) (time.Time, error) {
	cmd := exec.Command("git", "log", "-1", "--format=%ct")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}
