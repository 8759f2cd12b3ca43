package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
)

// Run runs a confined program to its end and returns its output. An error contains
// the last lines of its standard error.
type Run func(ctx context.Context, p Program, profile Profile) ([]byte, error)

// Confine prepares a server for its start: it installs the package of npx or uvx
// into its own folder, makes the profile, and opens the proxy if hosts are listed.
// release must be called when the server has ended.
func Confine(ctx context.Context, x *Proxy, s Server, p Program, run Run) (_ Program, profile Profile, release func(), err error) {
	if err := Supported(); err != nil {
		return p, profile, nil, err
	}
	release = func() {}
	if p, err = unshim(p, s.Cwd); err != nil {
		return p, profile, nil, err
	}
	f, err := readRunner(p.Path, p.Args)
	if err != nil {
		return p, profile, nil, err
	}
	var prefix []string
	if f != nil {
		dir := filepath.Join(s.state(), "prefix", f.hash(p.Env))
		if err := f.install(ctx, x, dir, p.Env, run); err != nil {
			return p, profile, nil, err
		}
		if p.Path, p.Args, err = f.Program(dir, p.Env); err != nil {
			return p, profile, nil, err
		}
		prefix = []string{dir}
	}
	if p, profile, err = Command(s, p, prefix...); err != nil {
		return p, profile, nil, err
	}
	if s.Learn != "" {
		release, err = x.learn(s, &p, &profile)
	} else if hosts := named(s.Rules.Hosts.Names); len(hosts) > 0 {
		release, err = x.open(grant{server: s.ID, hosts: hosts, asks: true}, &p, &profile)
	}
	return p, profile, release, err
}

// hash returns the folder name of a package. What an entry changes about the
// package manager or its registry is part of it: a package that one server got from
// a registry of its own must not run as another server.
func (f *Package) hash(env []string) string {
	text := f.runner + " " + f.spec()
	if tool := f.tool(env); !inPath(tool) {
		text += "\n" + tool
	}
	for _, entry := range slices.Sorted(slices.Values(toolEnv(env))) {
		if !inherited(entry) {
			text += "\n" + entry
		}
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// tool returns the package manager of the runner, which is next to it; "" if there
// is none.
func (f *Package) tool(env []string) string {
	return lookPath(f.toolName(), []string{"PATH=" + f.dir + ":" + getEnv(env, "PATH")})
}

func (f *Package) toolName() string { return map[string]string{"npx": "npm", "uvx": "uv"}[f.runner] }

// installing serialises installations.
var installing sync.Mutex

// done is the file that marks a complete installation.
const done = ".installed"

// install installs a package into dir, unless it is installed already. The package
// manager is confined to that folder and the registry, and runs no scripts of the
// package.
func (f *Package) install(ctx context.Context, x *Proxy, dir string, env []string, run Run) error {
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
	if err := f.fetch(ctx, x, folder, toolEnv(env), run); err != nil {
		return i18n.Errorf("installing %s: %w", "安装 %s 失败：%w", f.spec(), err)
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, done), []byte(f.spec()+"\n"), 0o600)
}

// fetch makes the runner's package manager install the package into the parent of
// folder. folder is its working folder.
func (f *Package) fetch(ctx context.Context, x *Proxy, folder string, env []string, run Run) error {
	path := f.tool(env)
	if path == "" {
		return i18n.Errorf("%s is needed to install what %s runs, and is not in PATH", "需要 %s 来安装 %s 要运行的内容，但 PATH 中没有", f.toolName(), f.runner)
	}
	var from source
	var err error
	if f.runner == "npx" {
		from, err = npmSource(ctx, path, folder, env, run)
	} else {
		from, err = uvSource(path, folder, env)
	}
	if err != nil {
		return err
	}
	dir := filepath.Dir(folder)
	for _, args := range f.steps(dir) {
		p := Program{Path: path, Args: args, Env: ownEnv(from.env, folder, false), Dir: dir}
		profile := toolProfile(p, from.read, dir)
		release, err := x.open(grant{server: f.spec(), hosts: from.hosts}, &p, &profile)
		if err != nil {
			return err
		}
		_, err = run(ctx, p, profile)
		release()
		if err != nil {
			return err
		}
	}
	return nil
}

// toolProfile lets a package manager write one folder. It may read certificate
// files anywhere if the user's own environment names them. A path from the entry
// does not count: it could be any file.
func toolProfile(p Program, read []string, dir string) Profile {
	profile := Profile{Read: slices.Concat(systemRead(), programFiles(p.Path, p.Env, folders.Home()), read), Write: append(systemWrite(), dir)}
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if file := getEnv(p.Env, name); file != "" && file == os.Getenv(name) {
			profile.Read = append(profile.Read, file)
		}
	}
	return profile
}

// toolEnv returns the part of a server's environment that a package manager needs.
// The rest may contain secrets.
func toolEnv(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !slices.Contains([]string{"PATH", "LANG", "NODE_EXTRA_CA_CERTS"}, name) &&
			!slices.ContainsFunc([]string{"npm_config_", "NPM_CONFIG_", "UV_", "SSL_CERT_", "LC_"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
}

// steps returns the commands that install a package.
func (f *Package) steps(dir string) [][]string {
	if f.runner == "npx" {
		return [][]string{{"install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error", "--noproxy=-", f.spec()}}
	}
	venv := filepath.Join(dir, ".venv")
	return [][]string{
		{"venv", "--quiet", "--python-preference", "only-system", venv},
		{"pip", "install", "--quiet", "--no-build", "--link-mode", "copy", "--python", filepath.Join(venv, "bin", "python"), f.spec()},
	}
}

// Program returns the command that runs the package installed in dir.
func (f *Package) Program(dir string, env []string) (path string, args []string, err error) {
	if f.runner == "uvx" {
		path = filepath.Join(dir, ".venv", "bin", f.script())
		if _, err := os.Stat(path); err != nil {
			return "", nil, i18n.Errorf("%s has no command %s", "%s 没有命令 %s", f.spec(), f.script())
		}
		return path, f.args, nil
	}
	root := filepath.Join(dir, "node_modules", filepath.FromSlash(f.Name))
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

// bin returns the file of the command that npx would run.
func (f *Package) bin(manifest []byte) (string, error) {
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
