package stdio

import (
	"path/filepath"
	"slices"
	"strings"
)

// runners are programs that download the program to run if it is missing. They get
// the credentials of package registries.
var runners = []string{"npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "deno", "uvx", "uv", "pipx", "docker", "podman", "go", "dotnet", "jbang"}

// Fetches reports whether a command may have to download its program first. That
// can take as long as the network needs.
func Fetches(command string) bool {
	name := strings.ToLower(filepath.Base(command))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".cmd")
	return slices.Contains(runners, name)
}
