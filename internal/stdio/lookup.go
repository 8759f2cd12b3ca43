package stdio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// A StartError says why a command could not be started.
type StartError struct {
	// Command is the command as it was given.
	Command string
	// Reason says what is wrong with it.
	Reason string
	// Hint says what to do about it; empty when we do not know.
	Hint string
	// Searched is the PATH in which the command was not found.
	Searched string
	// Err is the cause, for errors.Is; fs.ErrNotExist for what was not found.
	Err error
}

func (e *StartError) Error() string {
	text := fmt.Sprintf("starting %q: %s", e.Command, e.Reason)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

func (e *StartError) Unwrap() error { return e.Err }

// resolve returns the file that cmd means, looked up in the directory and the
// PATH that the child will have.
func resolve(cmd Command) (string, error) {
	if strings.ContainsRune(cmd.Path, 0) || containsNUL(cmd.Args) || containsNUL(cmd.Env) {
		return "", startError(cmd, fs.ErrInvalid, "command, arguments and environment must not contain NUL")
	}
	if cmd.Path == "" {
		return "", startError(cmd, fs.ErrInvalid, "no command is given")
	}
	if err := checkDir(cmd); err != nil {
		return "", err
	}
	if hasSeparator(cmd.Path) {
		path := cmd.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(cmd.Dir, path)
		}
		return path, checkFile(cmd, path)
	}
	return lookPath(cmd)
}

func checkDir(cmd Command) error {
	if cmd.Dir == "" {
		return nil
	}
	info, err := os.Stat(cmd.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return startError(cmd, err, "working directory %q does not exist", cmd.Dir)
	case err != nil:
		return startError(cmd, err, "working directory: %v", err)
	case !info.IsDir():
		return startError(cmd, fs.ErrInvalid, "working directory %q is not a directory", cmd.Dir)
	}
	return nil
}

// checkFile returns nil when path can be executed.
func checkFile(cmd Command, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e := startError(cmd, fs.ErrNotExist, "no such file: %s", path)
		e.Hint = spacesHint(cmd.Path)
		return e
	case err != nil:
		return startError(cmd, err, "%v", err)
	case info.IsDir():
		return startError(cmd, fs.ErrInvalid, "%s is a directory", path)
	case !isExecutable(info):
		e := startError(cmd, fs.ErrPermission, "%s is not executable", path)
		e.Hint = "make it so with chmod +x, or run it with its interpreter as command"
		return e
	}
	return nil
}

func lookPath(cmd Command) (string, error) {
	path := envValue(cmd.Env, "PATH")
	var unusable error
	for _, dir := range filepath.SplitList(path) {
		// A relative entry would let the working directory choose the program.
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, name := range executableNames(cmd.Path, cmd.Env) {
			file := filepath.Join(dir, name)
			err := checkFile(cmd, file)
			if err == nil {
				return file, nil
			}
			// A file that is there and unusable explains more than "not
			// found"; a directory of PATH that is not readable does not.
			var unreadable *fs.PathError
			if unusable == nil && !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &unreadable) {
				unusable = err
			}
		}
	}
	if unusable != nil {
		return "", unusable
	}
	reason := "command not found in PATH"
	if path == "" {
		reason = "command not found: its PATH is empty"
	}
	e := startError(cmd, fs.ErrNotExist, "%s", reason)
	e.Searched = path
	e.Hint = spacesHint(cmd.Path)
	if e.Hint == "" {
		e.Hint = foundElsewhere(cmd)
	}
	return "", e
}

// toolDirs are where version managers and installers put commands that a
// gateway started by a desktop application does not have in its PATH.
var toolDirs = []string{
	"~/.nvm/versions/node/*/bin", "~/.volta/bin", "~/.fnm/node-versions/*/installation/bin",
	"~/.local/share/fnm/node-versions/*/installation/bin", "~/.asdf/shims", "~/.local/share/mise/shims",
	"~/.local/bin", "~/.cargo/bin", "~/.bun/bin", "~/.deno/bin", "~/.pyenv/shims", "~/go/bin", "~/bin",
	"/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/bin", "/bin", "/snap/bin",
}

// foundElsewhere looks where the command usually is.
func foundElsewhere(cmd Command) string {
	home := envValue(cmd.Env, "HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	for _, dir := range toolDirs {
		if rest, ok := strings.CutPrefix(dir, "~"); ok {
			if home == "" {
				continue
			}
			dir = home + rest
		}
		// The last match is the newest version, near enough.
		matches, _ := filepath.Glob(filepath.Join(dir, cmd.Path))
		for i := len(matches) - 1; i >= 0; i-- {
			if checkFile(cmd, matches[i]) == nil {
				return fmt.Sprintf("there is %s: use that path, or add %s to PATH in its env",
					matches[i], filepath.Dir(matches[i]))
			}
		}
	}
	return ""
}

func spacesHint(command string) string {
	name, _, found := strings.Cut(strings.TrimSpace(command), " ")
	if !found {
		return ""
	}
	return fmt.Sprintf("the command is one file name: put %q into command and the rest into args", name)
}

func startError(cmd Command, cause error, format string, args ...any) *StartError {
	return &StartError{Command: cmd.Path, Reason: fmt.Sprintf(format, args...), Err: cause}
}

func hasSeparator(name string) bool {
	return strings.Contains(name, "/") || runtime.GOOS == "windows" && strings.ContainsAny(name, `\:`)
}

func containsNUL(list []string) bool {
	for _, s := range list {
		if strings.ContainsRune(s, 0) {
			return true
		}
	}
	return false
}

// envValue returns the last value of a variable.
func envValue(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		n, value, ok := splitEntry(env[i])
		if ok && (n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name)) {
			return value
		}
	}
	return ""
}
