package sandbox

import (
	"runtime"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox/launcher"
)

// Supported returns why servers cannot be confined on this system; nil if they can.
func Supported() error {
	if !able {
		return i18n.Errorf(`the sandbox does not support %s/%s yet; set "sandbox": "off" to run the server without a sandbox`,
			`沙箱暂不支持 %s/%s；设置 "sandbox": "off" 可不使用沙箱运行该服务器`, runtime.GOOS, runtime.GOARCH)
	}
	if abi := launcher.ABI(); abi == 0 {
		return i18n.Errorf(`the sandbox needs Landlock, which this kernel does not have (ABI 0); set "sandbox": "off" to run the server without a sandbox`,
			`沙箱需要 Landlock，而此内核没有（ABI 0）；设置 "sandbox": "off" 可不使用沙箱运行该服务器`)
	}
	if !mayAnswer() {
		return i18n.Errorf(`the sandbox must read the system calls of a child process, which kernel.yama.ptrace_scope forbids; set it to 1, or set "sandbox": "off" to run the server without a sandbox`,
			`沙箱需要查看子进程的系统调用，而 kernel.yama.ptrace_scope 禁止这样做；请将其设为 1，或设置 "sandbox": "off" 不使用沙箱运行该服务器`)
	}
	return nil
}

// Missing returns what this kernel cannot restrict: signals to other processes of
// the user (before 6.12), ioctls on devices (before 6.10).
func Missing() []string {
	var list []string
	abi := launcher.ABI()
	if abi < 6 {
		list = append(list, "signals")
	}
	if abi < 5 {
		list = append(list, "devices")
	}
	return list
}

// Summary says what is confined for a server, "files" or "files, hosts", and what
// this kernel cannot restrict. It returns "" if the sandbox is off.
func Summary(s config.Sandbox) string {
	if !s.On {
		return ""
	}
	text := "files"
	if s.Hosts.Listed {
		text += ", hosts"
	}
	if missing := Missing(); able && len(missing) > 0 {
		text += "; not " + strings.Join(missing, ", ")
	}
	return text
}
