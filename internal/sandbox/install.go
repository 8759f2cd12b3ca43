package sandbox

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// Run runs a confined program to its end. An error says what it wrote last.
type Run func(ctx context.Context, p Program, profile Profile) error

// Confine prepares a server to be started: it installs the package of npx or
// uvx into a folder of its own, makes the profile, and opens the proxy when
// hosts are listed. release gives back what lasts as long as the server.
func Confine(ctx context.Context, x *Proxy, s Server, p Program, run Run) (_ Program, profile Profile, release func(), err error) {
	if err := Supported(); err != nil {
		return p, profile, nil, err
	}
	release = func() {}
	f, err := readRunner(p.Path, p.Args)
	if err != nil {
		return p, profile, nil, err
	}
	var prefix []string
	if f != nil {
		dir := filepath.Join(s.state(), "prefix", f.hash())
		if err := f.install(ctx, x, dir, p.Env, run); err != nil {
			return p, profile, nil, err
		}
		if p.Path, p.Args, err = f.program(dir, p.Env); err != nil {
			return p, profile, nil, err
		}
		prefix = []string{dir}
	}
	if p, profile, err = Command(s, p, prefix...); err != nil {
		return p, profile, nil, err
	}
	if hosts := named(s.Rules.Hosts.Names); len(hosts) > 0 {
		release, err = x.open(s.ID, hosts, &p, &profile)
	}
	return p, profile, release, err
}

// hash names the folder of a package.
func (f *fetched) hash() string {
	sum := sha256.Sum256([]byte(f.runner + " " + f.spec()))
	return hex.EncodeToString(sum[:16])
}

// installing lets one installation happen at a time.
var installing sync.Mutex

// done is the file that says that an installation is complete.
const done = ".installed"

// install puts a package into dir, unless it is there. Its tool is confined to
// that folder and the registry, and runs no script of the package.
func (f *fetched) install(ctx context.Context, x *Proxy, dir string, env []string, run Run) error {
	installing.Lock()
	defer installing.Unlock()
	if _, err := os.Stat(filepath.Join(dir, done)); err == nil {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	folder, err := ownFolder(filepath.Join(dir, "work"))
	if err != nil {
		return err
	}
	steps, hosts, err := f.steps(filepath.Dir(folder), env)
	if err != nil {
		return err
	}
	for _, p := range steps {
		p.Env = ownEnv(toolEnv(p.Env), folder, false)
		p.Dir = filepath.Dir(folder)
		profile := Profile{Read: slices.Concat(systemRead(), programFiles(p.Path, p.Env, config.Home())), Write: append(systemWrite(), p.Dir)}
		if ca := getEnv(p.Env, "NODE_EXTRA_CA_CERTS"); ca != "" {
			profile.Read = append(profile.Read, ca)
		}
		release, err := x.open(f.spec(), hosts, &p, &profile)
		if err != nil {
			return err
		}
		err = run(ctx, p, profile)
		release()
		if err != nil {
			return i18n.Errorf("installing %s: %w", "安装 %s 失败：%w", f.spec(), err)
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, done), []byte(f.spec()+"\n"), 0o600)
}

// toolEnv is what an installing tool needs of a server's environment, which
// may have secrets.
func toolEnv(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		for _, prefix := range []string{"npm_config_", "NPM_CONFIG_", "UV_", "SSL_CERT_", "LC_"} {
			if strings.HasPrefix(name, prefix) {
				return false
			}
		}
		return !slices.Contains([]string{"PATH", "LANG", "NODE_EXTRA_CA_CERTS"}, name)
	})
}

// steps are the commands that install a package, and the hosts of its registry,
// which may be anywhere: the person has configured it.
func (f *fetched) steps(dir string, env []string) ([]Program, []host, error) {
	tool := map[string]string{"npx": "npm", "uvx": "uv"}[f.runner]
	path := lookPath(tool, []string{"PATH=" + f.dir + ":" + getEnv(env, "PATH")}) // it comes with the runner
	if path == "" {
		return nil, nil, i18n.Errorf("%s is needed to install what %s runs, and is not in PATH", "安装 %s 要运行的内容需要 %s，但 PATH 中没有", tool, f.runner)
	}
	if f.runner == "npx" {
		registry := npmRegistry(env)
		env = setEnv(env, map[string]string{"npm_config_registry": registry, "npm_config_cache": filepath.Join(dir, "work", "cache"), "npm_config_update_notifier": "false"})
		args := []string{"install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error", f.spec()}
		return []Program{{Path: path, Args: args, Env: env}}, hostsOf(registry), nil
	}
	hosts := hostsOf("https://pypi.org", "https://files.pythonhosted.org")
	for _, name := range []string{"UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"} {
		hosts = append(hosts, hostsOf(strings.Fields(getEnv(env, name))...)...)
	}
	env = setEnv(env, map[string]string{"UV_CACHE_DIR": filepath.Join(dir, "work", "cache"), "UV_PYTHON_DOWNLOADS": "never", "UV_NO_CONFIG": "1", "UV_NO_PROGRESS": "1"})
	venv := filepath.Join(dir, ".venv")
	return []Program{
		{Path: path, Args: []string{"venv", "--quiet", "--python-preference", "only-system", venv}, Env: env},
		{Path: path, Args: []string{"pip", "install", "--quiet", "--no-build", "--link-mode", "copy", "--python", filepath.Join(venv, "bin", "python"), f.spec()}, Env: env},
	}, hosts, nil
}

// npmRegistry is the registry that the person has configured for npm.
func npmRegistry(env []string) string {
	for _, name := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"} {
		if value := getEnv(env, name); value != "" {
			return value
		}
	}
	if file, err := os.Open(filepath.Join(config.Home(), ".npmrc")); err == nil {
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if key, value, ok := strings.Cut(lines.Text(), "="); ok && strings.TrimSpace(key) == "registry" {
				return strings.Trim(strings.TrimSpace(value), `"'`)
			}
		}
	}
	return "https://registry.npmjs.org/"
}

// hostsOf are the hosts of addresses.
func hostsOf(list ...string) []host {
	var hosts []host
	for _, text := range list {
		if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
			_, port := splitTarget(u.Host, 0)
			hosts = append(hosts, host{name: strings.ToLower(u.Hostname()), port: port, private: true})
		}
	}
	return hosts
}

// program is what runs an installed package.
func (f *fetched) program(dir string, env []string) (path string, args []string, err error) {
	if f.runner == "uvx" {
		path = filepath.Join(dir, ".venv", "bin", f.script())
		if _, err := os.Stat(path); err != nil {
			return "", nil, i18n.Errorf("%s has no command %s", "%s 没有命令 %s", f.spec(), f.script())
		}
		return path, f.args, nil
	}
	root := filepath.Join(dir, "node_modules", filepath.FromSlash(f.name))
	data, err := os.ReadFile(filepath.Join(root, "package.json"))
	if err != nil {
		return "", nil, err
	}
	bin, err := f.bin(data)
	if err != nil {
		return "", nil, err
	}
	if path = lookPath("node", env); path == "" {
		return "", nil, i18n.Errorf("node is not in PATH", "PATH 中没有 node")
	}
	return path, append([]string{filepath.Join(root, filepath.FromSlash(filepath.Clean("/"+bin)))}, f.args...), nil
}

// bin is the file of the command that npx would run.
func (f *fetched) bin(manifest []byte) (string, error) {
	var m struct {
		Bin json.RawMessage `json:"bin"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		return "", err
	}
	var one string
	if json.Unmarshal(m.Bin, &one) == nil && one != "" {
		return one, nil
	}
	var many map[string]string
	_ = json.Unmarshal(m.Bin, &many)
	if file := many[f.script()]; file != "" {
		return file, nil
	}
	if files := slices.Sorted(maps.Values(many)); len(slices.Compact(files)) == 1 {
		return files[0], nil
	}
	return "", i18n.Errorf("%s has no command %s", "%s 没有命令 %s", f.spec(), f.script())
}
