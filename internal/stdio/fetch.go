package stdio

import (
	"path/filepath"
	"slices"
	"strings"
)

// runners are programs that download what they run when it is not there yet.
var runners = []string{"npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "deno", "uvx", "uv", "pipx", "docker", "podman", "go", "dotnet", "jbang"}

// Fetches says whether a command may have to download its program first, which
// takes as long as the network takes.
func Fetches(command string) bool {
	name := strings.ToLower(filepath.Base(command))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
	return slices.Contains(runners, name)
}
