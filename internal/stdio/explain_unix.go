//go:build unix

package stdio

import (
	"bytes"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox"
)

// explain turns an exec error for an existing file into a message that the user can
// act on.
func explain(cmd Command, path string, failure error) error {
	switch {
	case failure == nil:
		return nil
	case errors.As(failure, new(*sandbox.SetupError)):
		e := startError(cmd, failure, "%v", "%v", failure)
		e.Hint = i18n.New(`set "sandbox": "off" to run it without a sandbox`, `设置 "sandbox": "off" 可不使用沙箱运行`)
		return e
	case errors.Is(failure, unix.ENOENT):
		if program := interpreter(path); program != "" {
			return startError(cmd, failure, "%s needs %s, which does not exist", "%s 需要 %s，而它不存在", path, program)
		}
	case errors.Is(failure, unix.ENOEXEC):
		return startError(cmd, failure, "%s is not a program of this machine and has no #! line", "%s 不是本机的程序，也没有 #! 行", path)
	case errors.Is(failure, unix.E2BIG):
		return startError(cmd, failure, "its arguments and environment are too large", "参数与环境变量过大")
	}
	return startError(cmd, failure, "%s: %v", "%s：%v", path, failure)
}

// interpreter returns the program in the #! line of a script.
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line := make([]byte, 256)
	n, _ := f.Read(line)
	rest, ok := bytes.CutPrefix(line[:n], []byte("#!"))
	if !ok {
		return ""
	}
	first, _, _ := bytes.Cut(rest, []byte("\n"))
	fields := bytes.Fields(first)
	if len(fields) == 0 {
		return ""
	}
	return string(fields[0])
}
