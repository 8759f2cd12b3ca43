package stdio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// A StartError says why a command could not be started.
type StartError struct {
	// Command is the command as it was given.
	Command string
	// Reason says why it could not be started.
	Reason i18n.Text
	// Hint says how to fix it; empty if unknown.
	Hint i18n.Text
	// Searched is the PATH that was searched without success.
	Searched string
	// Err is the cause, for errors.Is; fs.ErrNotExist if the command was not found.
	Err error
}

func (e *StartError) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *StartError) In(l i18n.Lang) string {
	if e.Hint.Empty() {
		return i18n.New("starting %q: %v", "启动 %q 失败：%v", e.Command, e.Reason).In(l)
	}
	return i18n.New("starting %q: %v; %v", "启动 %q 失败：%v；%v", e.Command, e.Reason, e.Hint).In(l)
}

func (e *StartError) Unwrap() error { return e.Err }

// resolve returns the file of cmd, looked up with the working directory and the
// PATH of the child.
func resolve(cmd Command) (string, error) {
	if strings.ContainsRune(cmd.Path, 0) || containsNUL(cmd.Args) || containsNUL(cmd.Env) {
		return "", startError(cmd, fs.ErrInvalid, "command, arguments and environment must not contain NUL", "命令、参数与环境变量不能含有 NUL")
	}
	if cmd.Path == "" {
		return "", startError(cmd, fs.ErrInvalid, "no command is given", "没有给出命令")
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
		return startError(cmd, err, "working directory %q does not exist", "工作目录 %q 不存在", cmd.Dir)
	case err != nil:
		return startError(cmd, err, "working directory: %v", "工作目录：%v", err)
	case !info.IsDir():
		return startError(cmd, fs.ErrInvalid, "working directory %q is not a directory", "工作目录 %q 不是目录", cmd.Dir)
	}
	return nil
}

// checkFile returns nil if path can be executed.
func checkFile(cmd Command, path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e := startError(cmd, fs.ErrNotExist, "no such file: %s", "没有这个文件：%s", path)
		e.Hint = spacesHint(cmd.Path)
		return e
	case err != nil:
		return startError(cmd, err, "%v", "%v", err)
	case info.IsDir():
		return startError(cmd, fs.ErrInvalid, "%s is a directory", "%s 是目录", path)
	case !isExecutable(info):
		e := startError(cmd, fs.ErrPermission, "%s is not executable", "%s 没有执行权限", path)
		e.Hint = i18n.New("make it executable with chmod +x, or run it with its interpreter as command", "请用 chmod +x 添加执行权限，或以其解释器作为 command")
		return e
	}
	return nil
}

func lookPath(cmd Command) (string, error) {
	path := envValue(cmd.Env, "PATH")
	var unusable error
	for _, dir := range filepath.SplitList(path) {
		// A relative entry would let the working directory determine the program.
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, name := range executableNames(cmd.Path, cmd.Env) {
			file := filepath.Join(dir, name)
			err := checkFile(cmd, file)
			if err == nil {
				return file, nil
			}
			// A file that exists but is unusable explains more than "not found". An
			// unreadable directory in PATH does not.
			var unreadable *fs.PathError
			if unusable == nil && !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &unreadable) {
				unusable = err
			}
		}
	}
	if unusable != nil {
		return "", unusable
	}
	e := startError(cmd, fs.ErrNotExist, "command not found in PATH", "在 PATH 中找不到该命令")
	if path == "" {
		e.Reason = i18n.New("command not found: its PATH is empty", "找不到该命令：PATH 为空")
	}
	e.Searched = path
	e.Hint = spacesHint(cmd.Path)
	if e.Hint.Empty() {
		e.Hint = foundElsewhere(cmd)
	}
	return "", e
}

// toolDirs are the directories where version managers and installers put commands.
// They are often missing from the PATH of a gateway that a desktop application
// started.
var toolDirs = []string{
	"~/.nvm/versions/node/*/bin", "~/.volta/bin", "~/.fnm/node-versions/*/installation/bin",
	"~/.local/share/fnm/node-versions/*/installation/bin", "~/.asdf/shims", "~/.local/share/mise/shims",
	"~/.local/bin", "~/.cargo/bin", "~/.bun/bin", "~/.deno/bin", "~/.pyenv/shims", "~/go/bin", "~/bin",
	"/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/bin", "/bin", "/snap/bin",
}

// foundElsewhere looks for the command in toolDirs and returns a hint.
func foundElsewhere(cmd Command) i18n.Text {
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
		// The last match is usually the newest version.
		matches, _ := filepath.Glob(filepath.Join(dir, cmd.Path))
		for _, path := range slices.Backward(matches) {
			if checkFile(cmd, path) == nil {
				return i18n.New("there is %s: use that path, or add %s to PATH in its env", "它位于 %s：请使用该路径，或把 %s 加入其 env 的 PATH",
					path, filepath.Dir(path))
			}
		}
	}
	return i18n.Text{}
}

func spacesHint(command string) i18n.Text {
	name, _, found := strings.Cut(strings.TrimSpace(command), " ")
	if !found {
		return i18n.Text{}
	}
	return i18n.New("the command is one file name: put %q into command and the rest into args", "command 只能是一个文件名：请把 %q 写入 command，其余写入 args", name)
}

func startError(cmd Command, cause error, en, zh string, args ...any) *StartError {
	return &StartError{Command: cmd.Path, Reason: i18n.New(en, zh, args...), Err: cause}
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
	for _, e := range slices.Backward(env) {
		n, value, ok := splitEntry(e)
		if ok && (n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name)) {
			return value
		}
	}
	return ""
}
