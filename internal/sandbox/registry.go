package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
)

// A source is where a tool gets packages from, as the user configured it.
type source struct {
	env   []string
	read  []string // configuration files
	hosts []host   // hosts of its registries; they may have private addresses
}

// steered reports whether an entry sets variables of a tool. Then the user's own
// configuration of the tool, such as tokens, must not be used: it is not for the
// registry of the entry.
func steered(env []string, prefixes ...string) bool {
	return slices.ContainsFunc(env, func(entry string) bool {
		return !inherited(entry) && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(entry, p) })
	})
}

// inherited reports whether a variable has the value that it has in the environment
// of the gateway.
func inherited(entry string) bool {
	name, value, _ := strings.Cut(entry, "=")
	return os.Getenv(name) == value
}

// inPath reports whether a program is the one in the user's own PATH.
func inPath(path string) bool {
	own, err := os.Stat(lookPath(filepath.Base(path), os.Environ()))
	if err != nil {
		return false
	}
	it, err := os.Stat(path)
	return err == nil && os.SameFile(own, it)
}

// npmSource asks npm for its registries, including those of scopes. Meanwhile npm
// is confined to folder and has no network.
func npmSource(ctx context.Context, npm, folder string, env []string, run Run) (source, error) {
	s := source{env: setEnv(env, map[string]string{"npm_config_cache": filepath.Join(folder, "cache"), "npm_config_update_notifier": "false"})}
	own := !steered(env, "npm_config_", "NPM_CONFIG_")
	if !inPath(npm) {
		return s.strangeNPM(folder, own)
	}
	if own {
		file := npmUserConfig(env)
		s.env = setEnv(s.env, map[string]string{"npm_config_userconfig": file})
		s.read = []string{file, "/etc/npmrc"}
	}
	p := Program{Path: npm, Args: []string{"config", "list", "--json", "--loglevel=error"}, Env: ownEnv(s.env, folder, false), Dir: folder}
	out, err := run(ctx, p, toolProfile(p, s.read, folder))
	if err != nil {
		return s, err
	}
	var all map[string]any
	if err := json.Unmarshal(out, &all); err != nil {
		return s, i18n.Errorf("cannot parse the configuration that npm printed, %.100q: %w", "无法解析 npm 输出的配置 %.100q：%w", out, err)
	}
	for key, value := range all {
		text, _ := value.(string)
		switch {
		case text == "":
		case isRegistry(key):
			s.hosts = append(s.hosts, hostsOf(text)...)
		case key == "cafile" && own:
			s.read = append(s.read, text)
		case key == "globalconfig": // an installation with --prefix looks for it in that folder
			s.env = setEnv(s.env, map[string]string{"npm_config_globalconfig": text})
		}
	}
	return s, nil
}

// strangeNPM is the source of an npm that an entry names by path and that is not
// the user's own. That npm gets the registries but no tokens.
func (s source) strangeNPM(folder string, own bool) (source, error) {
	standard := "https://registry.npmjs.org/"
	var lines, more []string
	if own {
		data, err := os.ReadFile(npmUserConfig(s.env))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s, err
		}
		for line := range strings.Lines(string(data)) {
			key, value, _ := strings.Cut(line, "=")
			key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"'`)
			if !isRegistry(key) {
				continue
			}
			lines = append(lines, key+"="+value+"\n")
			if key == "registry" {
				standard = value
			} else {
				more = append(more, value)
			}
		}
	}
	for _, name := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"} {
		if value := getEnv(s.env, name); value != "" {
			standard = value
		}
	}
	file := filepath.Join(folder, "npmrc")
	s.env = withoutPasswords(setEnv(s.env, map[string]string{"npm_config_userconfig": file}))
	s.hosts = hostsOf(append(more, standard)...)
	if !own {
		s.onlyPublic()
	}
	return s, os.WriteFile(file, []byte(strings.Join(lines, "")), 0o600)
}

// onlyPublic is for a program and a registry that the same entry names: together
// they could ask any host of a private network.
func (s *source) onlyPublic() {
	for i := range s.hosts {
		s.hosts[i].private = false
	}
}

// isRegistry reports whether a key of npm's configuration names a registry.
func isRegistry(key string) bool { return key == "registry" || strings.HasSuffix(key, ":registry") }

// npmUserConfig returns the path of the user's npm configuration.
func npmUserConfig(env []string) string {
	for _, name := range []string{"npm_config_userconfig", "NPM_CONFIG_USERCONFIG"} {
		if value := getEnv(env, name); value != "" {
			return value
		}
	}
	return filepath.Join(folders.Home(), ".npmrc")
}

// uvConfig is the part of a uv configuration file about indexes.
type uvConfig struct {
	IndexURL string   `toml:"index-url"`
	Extra    []string `toml:"extra-index-url"`
	Index    []struct {
		Name     string `toml:"name"`
		URL      string `toml:"url"`
		Default  bool   `toml:"default"`
		Explicit bool   `toml:"explicit"`
	} `toml:"index"`
	NativeTLS   bool `toml:"native-tls"`
	SystemCerts bool `toml:"system-certs"`
}

// pypi are the hosts of uv's default index.
var pypi = []string{"https://pypi.org", "https://files.pythonhosted.org"}

// uvSource reads uv's configuration files, because uv has no command to print its
// configuration. uv itself gets the indexes as variables, and no file. A uv that an
// entry names by path, and that is not the user's own, gets no passwords.
func uvSource(uv, folder string, env []string) (source, error) {
	standard := cmp.Or(getEnv(env, "UV_DEFAULT_INDEX"), getEnv(env, "UV_INDEX_URL"))
	indexes := strings.Fields(getEnv(env, "UV_INDEX"))
	set := map[string]string{"UV_CACHE_DIR": filepath.Join(folder, "cache"), "UV_PYTHON_DOWNLOADS": "never", "UV_NO_CONFIG": "1", "UV_NO_PROGRESS": "1"}
	strange, own := !inPath(uv), !steered(env, "UV_")
	if own {
		for _, file := range uvFiles(env) {
			c, err := readUV(file)
			if err != nil {
				return source{}, err
			}
			main, more := c.indexes()
			if strange {
				main = withoutPassword(main)
				for i := range more {
					more[i] = withoutPassword(more[i])
				}
			}
			if standard == "" && main != "" {
				standard = main
				set["UV_DEFAULT_INDEX"] = main
			}
			indexes = append(indexes, more...)
			if c.NativeTLS || c.SystemCerts {
				set["UV_NATIVE_TLS"], set["UV_SYSTEM_CERTS"] = "true", "true"
			}
		}
	}
	if len(indexes) > 0 {
		set["UV_INDEX"] = strings.Join(indexes, " ")
	}
	s := source{env: setEnv(env, set), hosts: hostsOf(pypi...)}
	if standard != "" {
		s.hosts = hostsOf(standard)
	}
	s.hosts = append(s.hosts, hostsOf(slices.Concat(indexes, strings.Fields(getEnv(env, "UV_EXTRA_INDEX_URL")))...)...)
	if strange {
		if s.env = withoutPasswords(s.env); !own {
			s.onlyPublic()
		}
	}
	return s, nil
}

// uvFiles returns the files that uv reads, highest priority first.
func uvFiles(env []string) []string {
	if file := getEnv(env, "UV_CONFIG_FILE"); file != "" {
		return []string{file}
	}
	if getEnv(env, "UV_NO_CONFIG") != "" {
		return nil
	}
	dir := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(folders.Home(), ".config"))
	return []string{filepath.Join(dir, "uv", "uv.toml"), "/etc/uv/uv.toml"}
}

func readUV(file string) (c uvConfig, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = toml.Unmarshal(data, &c)
	}
	if err != nil {
		return c, i18n.Errorf("reading the configuration of uv, %s: %w", "读取 uv 的配置 %s 失败：%w", file, err)
	}
	return c, nil
}

// indexes returns the default index, "" if the file has none, and the additional
// indexes.
func (c uvConfig) indexes() (standard string, more []string) {
	standard = c.IndexURL
	for _, index := range c.Index {
		switch {
		case index.Explicit || !strings.Contains(index.URL, "://"):
		case index.Default:
			standard = index.URL
		case index.Name != "":
			more = append(more, index.Name+"="+index.URL)
		default:
			more = append(more, index.URL)
		}
	}
	return standard, append(more, c.Extra...)
}

// hostsOf returns the hosts of URLs, which may have a name: "work=https://…".
func hostsOf(list ...string) []host {
	var hosts []host
	for _, text := range list {
		if name, address, ok := strings.Cut(text, "="); ok && !strings.Contains(name, ":") {
			text = address
		}
		if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
			if _, port, ok := splitTarget(u.Host, 0); ok {
				hosts = append(hosts, host{name: strings.ToLower(u.Hostname()), port: port, private: true})
			}
		}
	}
	return hosts
}
