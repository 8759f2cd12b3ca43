//go:build !windows

package service

import (
	"io"
	"runtime"

	"mcp-all-in-one/internal/i18n"
)

// New returns the service manager of this system.
func New(home, _ string) Manager {
	if runtime.GOOS == "darwin" {
		return NewLaunchd(home)
	}
	return NewSystemd(home)
}

// Run is only for Windows. On other systems a service is an ordinary program.
func Run(string, func(stop <-chan struct{}, log io.Writer) error) error {
	return i18n.Errorf("only Windows starts services this way: run mcp-all-in-one http", "只有 Windows 以这种方式启动服务：请运行 mcp-all-in-one http")
}
