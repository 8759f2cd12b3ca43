package stdio

import (
	"maps"
	"runtime"
	"slices"
	"strings"

	"mcp-all-in-one/internal/sandbox"
)

// Inherit says what a child inherits besides the default list.
type Inherit struct {
	// All passes on the whole environment, secrets included.
	All bool
	// Names are passed on too, even those that look like secrets.
	Names []string
}

// inherited are the variables that every child gets: for paths, network access,
// package managers and container engines, and the user's terminal and language. A star at the end matches any suffix.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_*", "TZ", "TMPDIR", "TEMP", "TMP",
	"XDG_*", "DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS",
	"SSL_CERT_*", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
	"NPM_CONFIG_*", "npm_config_*", "PIP_*", "UV_*", "NVM_*", "VOLTA_HOME", "PYENV_ROOT", "JAVA_HOME",
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY",
	"CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_REGISTRIES_CONF", "CONTAINERS_STORAGE_CONF", "REGISTRY_AUTH_FILE",
}

// inheritedOnWindows are the variables that programs need to start on Windows.
var inheritedOnWindows = []string{
	"ALLUSERSPROFILE", "APPDATA", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432",
	"COMPUTERNAME", "COMSPEC", "DRIVERDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS",
	"OS", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROCESSOR_IDENTIFIER", "PROGRAMDATA", "PROGRAMFILES",
	"PROGRAMFILES(X86)", "PROGRAMW6432", "PSMODULEPATH", "PUBLIC", "SYSTEMDRIVE", "SYSTEMROOT",
	"USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
}

// secretWords mark the names that are not inherited by default.
var secretWords = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"}

// Environ builds the environment of a child from the parent's: the variables of the
// default list, those of inherit, and own, which takes precedence. Credentials of
// package registries are passed on only if command fetches packages. withheld are the
// sorted names that the child does not get; they help to explain a failure.
func Environ(parent []string, command string, inherit Inherit, own map[string]string) (env, withheld []string) {
	return environ(parent, command, inherit, own, runtime.GOOS == "windows")
}

func environ(parent []string, command string, inherit Inherit, own map[string]string, windows bool) (env, withheld []string) {
	fold := func(name string) string { return name }
	if windows {
		fold = strings.ToUpper
	}
	taken := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		taken[fold(name)] = true
		env = append(env, name+"="+own[name])
	}
	named := make(map[string]bool)
	for _, name := range inherit.Names {
		named[fold(name)] = true
	}
	// The last of several values counts, as in os/exec.
	for _, entry := range slices.Backward(parent) {
		name, value, ok := splitEntry(entry)
		if !ok || taken[fold(name)] {
			continue
		}
		taken[fold(name)] = true
		if inherit.All || named[fold(name)] || isInherited(name, windows) && (Fetches(command) || !sandbox.OpensRegistry(name, value)) {
			env = append(env, entry)
		} else {
			withheld = append(withheld, name)
		}
	}
	slices.Sort(env)
	slices.Sort(withheld)
	return env, withheld
}

// splitEntry cuts NAME=value. Windows keeps entries like "=C:=C:\dir", whose
// name begins with the equals sign.
func splitEntry(entry string) (name, value string, ok bool) {
	i := strings.IndexByte(entry, '=')
	if i == 0 {
		i = strings.IndexByte(entry[1:], '=') + 1
	}
	if i <= 0 {
		return "", "", false
	}
	return entry[:i], entry[i+1:], true
}

func isInherited(name string, windows bool) bool {
	upper := strings.ToUpper(name)
	for _, word := range secretWords {
		if strings.Contains(upper, word) {
			return false
		}
	}
	if strings.HasSuffix(name, "_PROXY") || strings.HasSuffix(name, "_proxy") {
		return true
	}
	list := inherited
	if windows {
		if strings.HasPrefix(name, "=") {
			return true
		}
		name = upper
		list = append(slices.Clone(inherited), inheritedOnWindows...)
	}
	return slices.ContainsFunc(list, func(pattern string) bool {
		if stem, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(name, stem)
		}
		return name == pattern
	})
}
