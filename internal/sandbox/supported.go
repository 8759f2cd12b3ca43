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
		return i18n.Errorf(`the sandbox is on, and there is none for %s/%s yet: "sandbox": "off" runs it without`,
			`沙箱已开启，但暂不支持 %s/%s："sandbox": "off" 可不经隔离运行`, runtime.GOOS, runtime.GOARCH)
	}
	if abi := launcher.ABI(); abi == 0 {
		return i18n.Errorf(`the sandbox is on, and this kernel has no Landlock (ABI 0): "sandbox": "off" runs it without`,
			`沙箱已开启，但此内核没有 Landlock（ABI 0）："sandbox": "off" 可不经隔离运行`)
	}
	if !mayAnswer() {
		return i18n.Errorf(`the sandbox is on, and kernel.yama.ptrace_scope forbids looking at the calls of a child: set it to 1, or "sandbox": "off" runs it without`,
			`沙箱已开启，但 kernel.yama.ptrace_scope 禁止查看子进程的调用：请设为 1，或用 "sandbox": "off" 不经隔离运行`)
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
