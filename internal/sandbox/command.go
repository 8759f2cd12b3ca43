package sandbox

import (
	"bufio"
	"cmp"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/lazy"
)

// A Server is a server to confine.
type Server struct {
	// ID is unique within its config file.
	ID string
	// Place is the name of its folder, which no other server has; ID if empty.
	Place string
	// Rules are the sandbox rules of its entry.
	Rules config.Sandbox
	// Cwd is the working directory in its entry, which it may write; "" if none.
	Cwd string
	// Learn is a file that records which files, programs and hosts the server
	// uses. The server then runs unconfined. If it is "", the server is confined.
	Learn string
	// State is the parent of the servers' folders; folders.StateDir if empty.
	State string
}

// A Program is a command to start.
type Program struct {
	Path string // absolute
	Args []string
	Env  []string
	Dir  string
}

func (s Server) state() string {
	if s.State != "" {
		return s.State
	}
	return folders.StateDir()
}

// Folder returns the folder that belongs to this server only.
func (s Server) Folder() string {
	return filepath.Join(s.state(), "servers", url.PathEscape(cmp.Or(s.Place, s.ID)))
}

// Command returns the program as it is started in the sandbox, and its profile. The
// server gets its own home folder: many programs fail if they cannot read a home,
// but work with an empty one. prefix are folders with the server's own code.
func Command(s Server, p Program, prefix ...string) (Program, Profile, error) {
	folder, err := ownFolder(s.Folder())
	if err != nil {
		return p, Profile{}, err
	}
	home := folders.Home()
	profile := Profile{Unix: s.Rules.Unix, Listen: s.Rules.Listen}
	read := slices.Concat(programFiles(p.Path, p.Env, home), prefix, s.Rules.Read)
	write := append([]string{folder}, s.Rules.Write...)
	if s.Cwd != "" {
		write = append(write, s.Cwd)
	} else {
		p.Dir = filepath.Join(folder, "home")
	}
	if s.Rules.Home && home != "" {
		read = append(read, home)
	}
	// The system's paths stay unresolved: here, /proc/self is another process.
	write = writable(write)
	profile.Read = append(systemRead(), realPaths(read, write)...)
	profile.Write = append(systemWrite(), write...)
	p.Env = ownEnv(withoutPasswords(p.Env), folder, s.Rules.Home)
	if !s.Rules.Hosts.Listed {
		profile.Public = true
	}
	for _, name := range s.Rules.Hosts.Names {
		host, port, ok := config.SplitHost(name)
		if addr, err := netip.ParseAddr(host); ok && err == nil {
			profile.Addresses = append(profile.Addresses, addresses(addr, port)...)
		}
	}
	return p, profile, nil
}

// realPaths resolves the links of paths. It drops paths inside folders that the
// server may write: the server has access to them anyway, and may have replaced
// them with links to any place.
func realPaths(list, writable []string) []string {
	var out []string
	for _, path := range list {
		parent, err := filepath.EvalSymlinks(filepath.Dir(path))
		inside := slices.ContainsFunc(writable, func(w string) bool { return path != "/" && within(parent, w) })
		if err != nil || inside {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			out = append(out, real)
		}
	}
	return out
}

// writable returns the folders that a server may write. A folder comes before its
// subfolders.
func writable(list []string) []string {
	parent := func(path string) int {
		real, _ := filepath.EvalSymlinks(filepath.Dir(path))
		return len(real)
	}
	list = slices.SortedStableFunc(slices.Values(list), func(a, b string) int { return parent(a) - parent(b) })
	var out []string
	for _, path := range list {
		out = append(out, realPaths([]string{path}, out)...)
	}
	return out
}

// addresses returns an address with its port, or with ports 443 and 80 if none is
// given.
func addresses(addr netip.Addr, port uint16) []string {
	if port != 0 {
		return []string{netip.AddrPortFrom(addr, port).String()}
	}
	return []string{netip.AddrPortFrom(addr, 443).String(), netip.AddrPortFrom(addr, 80).String()}
}

// withheld are variables that lead out of the sandbox.
var withheld = []string{"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "SSH_AUTH_SOCK"}

// ownEnv returns an environment in which the user's folders are the server's own.
func ownEnv(env []string, folder string, realHome bool) []string {
	home := filepath.Join(folder, "home")
	tmp := filepath.Join(folder, "tmp")
	set := map[string]string{"TMPDIR": tmp, "TEMP": tmp, "TMP": tmp,
		"XDG_CONFIG_HOME": home + "/.config", "XDG_CACHE_HOME": home + "/.cache",
		"XDG_DATA_HOME": home + "/.local/share", "XDG_STATE_HOME": home + "/.local/state"}
	if !realHome {
		set["HOME"] = home
	}
	return setEnv(env, set, withheld...)
}

// inURL matches the name and the password in a URL.
var inURL = lazy.Regexp(`(://)[^/\s@]+@`)

// ofPackages reports whether a variable, in upper case, configures a package
// manager.
func ofPackages(name string) bool {
	return slices.ContainsFunc([]string{"NPM_CONFIG_", "UV_", "PIP_"}, func(p string) bool { return strings.HasPrefix(name, p) })
}

// isLogin reports whether a variable is an _auth of npm.
func isLogin(name string) bool {
	name = strings.ToUpper(name)
	return ofPackages(name) && strings.HasSuffix(name, "_AUTH")
}

// OpensRegistry reports whether a variable has the credentials of a registry of
// packages.
func OpensRegistry(name, value string) bool {
	return isLogin(name) || ofPackages(strings.ToUpper(name)) && inURL().MatchString(value)
}

// withoutPasswords removes the credentials of registries and the passwords in the
// addresses of registries and proxies that the environment of the gateway has. They
// are for the programs that the user runs.
func withoutPasswords(env []string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return isLogin(name) && inherited(entry)
	})
	for i, entry := range out {
		name, _, _ := strings.Cut(strings.ToUpper(entry), "=")
		if (ofPackages(name) || strings.HasSuffix(name, "_PROXY")) && inherited(entry) {
			out[i] = withoutPassword(entry)
		}
	}
	return out
}

func withoutPassword(text string) string { return inURL().ReplaceAllString(text, "$1") }

// setEnv sets variables and removes others.
func setEnv(env []string, set map[string]string, without ...string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, replaced := set[name]
		return replaced || slices.Contains(without, name)
	})
	for name, value := range set {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

func getEnv(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// programFiles returns the files that a program needs to read: the file itself, the
// target of its link, the installation of either, and the same for the interpreter
// of a script.
func programFiles(path string, env []string, home string) []string {
	list := installation(path, home)
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		list = append(list, installation(real, home)...)
	}
	if program := interpreter(path, env); program != "" && program != path {
		list = append(list, programFiles(program, nil, home)...)
	}
	return list
}

// installation returns the folder into which a program was installed together with
// its libraries, as version managers and virtual environments do. If there is none,
// it returns the file itself.
func installation(path, home string) []string {
	root := filepath.Dir(filepath.Dir(path))
	if filepath.Base(filepath.Dir(path)) != "bin" || within(home, root) || home != "" && root == filepath.Join(home, ".local") {
		return []string{path}
	}
	for _, sign := range []string{"pyvenv.cfg", "lib/node_modules", "lib/python3*"} {
		if found, _ := filepath.Glob(filepath.Join(root, sign)); len(found) > 0 {
			return []string{root}
		}
	}
	return []string{path}
}

// interpreter returns the program in the #! line of a script, looked up as env
// does; "" if path is not a script.
func interpreter(path string, env []string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	start := make([]byte, 256)
	n, _ := f.Read(start)
	line, err := bufio.NewReader(strings.NewReader(string(start[:n]))).ReadString('\n')
	rest, script := strings.CutPrefix(line, "#!")
	words := strings.Fields(rest)
	if err != nil || !script || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, word := range words[1:] {
		if !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return lookPath(word, env)
		}
	}
	return ""
}

// lookPath finds a program in the PATH of an environment; "" if there is none.
func lookPath(name string, env []string) string {
	for _, dir := range filepath.SplitList(getEnv(env, "PATH")) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && filepath.IsAbs(file) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

// within reports whether path is dir or inside it. Both must be real paths.
func within(path, dir string) bool {
	dir = filepath.Clean(dir)
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// useProxy lets a program connect to hosts by name, through the proxy at address.
func useProxy(p *Program, profile *Profile, address, secret string) {
	profile.Addresses = append(profile.Addresses, address)
	at := "http://sandbox:" + secret + "@" + address
	set := map[string]string{"NODE_USE_ENV_PROXY": "1", "NO_PROXY": "", "no_proxy": ""}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
		"npm_config_proxy", "npm_config_https_proxy"} {
		set[name] = at
	}
	p.Env = setEnv(p.Env, set)
}
