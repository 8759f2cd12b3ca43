package doctor

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/lazy"
)

// nodePatience is the time limit for node --version.
const nodePatience = 5 * time.Second

var nodeVersion = lazy.Regexp(`^v(\d+)\.(\d+)`)

// oldNode returns a warning if a server may reach only listed hosts and its
// version of Node ignores the proxy that leads to them; empty otherwise.
func oldNode(a *env.Env, s *config.Server) string {
	if !s.Sandbox.On || !s.Sandbox.Hosts.Listed || len(s.Sandbox.Hosts.Names) == 0 {
		return ""
	}
	node := "node"
	switch base := strings.TrimSuffix(filepath.Base(s.Command), ".exe"); {
	case !slices.Contains([]string{"node", "npx", "npm"}, base):
		return ""
	case filepath.IsAbs(s.Command):
		node = filepath.Join(filepath.Dir(s.Command), "node")
	}
	ctx, cancel := context.WithTimeout(context.Background(), nodePatience)
	defer cancel()
	said, err := exec.CommandContext(ctx, node, "--version").Output()
	if err != nil || obeysProxy(string(said)) {
		return "" // without Node the server itself reports the error
	}
	return a.T("fetch of Node "+strings.TrimSpace(string(said))+" ignores the proxy by which a confined server reaches its hosts, and gets EACCES: use Node 24, or 22.21 or newer of 22",
		"Node "+strings.TrimSpace(string(said))+" 的 fetch 会忽略沙箱访问主机所用的代理，并得到 EACCES：请使用 Node 24，或 22.21 及更新的 22 版")
}

// obeysProxy reports whether fetch in a version of Node honours
// NODE_USE_ENV_PROXY.
func obeysProxy(version string) bool {
	m := nodeVersion().FindStringSubmatch(strings.TrimSpace(version))
	if m == nil {
		return true // unknown
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major >= 24 || major == 22 && minor >= 21
}
