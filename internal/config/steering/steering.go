// Package steering lists the environment variables that decide which code or
// libraries a program loads. Untrusted sources must not set them: registries,
// bundles and users of a server.
package steering

import (
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// steering are the variables in upper case; * matches any text.
var steering = []struct{ names, en, zh string }{
	{"LD_* DYLD_* GCONV_PATH GLIBC_TUNABLES LOCPATH NLSPATH", "decides which libraries every program loads", "决定每个程序加载哪些库"},
	{"OPENSSL_*", "decides which libraries TLS loads", "决定 TLS 加载哪些库"},
	{"SSLKEYLOGFILE", "would write down the keys of every connection", "会记下每个连接的密钥"},
	{"GTK_* GIO_* QT_*", "decides which libraries programs with windows load", "决定图形程序加载哪些库"},
	{"NODE_OPTIONS NODE_PATH NODE_COMPILE_CACHE NODE_REPL_EXTERNAL_MODULE BUN_* DENO_*", "would run code in every Node program", "会让每个 Node 程序运行代码"},
	{"PYTHON* __PYVENV_LAUNCHER__", "would run code in every Python program", "会让每个 Python 程序运行代码"},
	{"BASH_* ENV ZDOTDIR PROMPT_COMMAND SHELLOPTS BASHOPTS PS4 IFS", "would run code in every shell", "会让每个 shell 运行代码"},
	{"PERL5* PERLLIB PERL_*", "would run code in every Perl program", "会让每个 Perl 程序运行代码"},
	{"RUBYOPT RUBYLIB GEM_* BUNDLE_*", "would run code in every Ruby program", "会让每个 Ruby 程序运行代码"},
	{"JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_* JAVA_OPTS JAVA_HOME CLASSPATH", "would run code in every Java program", "会让每个 Java 程序运行代码"},
	{"DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS DOTNET_SHARED_STORE DOTNET_ROOT* DOTNET_HOST_PATH DOTNET_BUNDLE_* DOTNET_GC* CORECLR_* COR_* COMPLUS_* MONO_*",
		"would run code in every .NET program", "会让每个 .NET 程序运行代码"},
	{"PHPRC PHP_INI_* LUA_* R_PROFILE* R_ENVIRON* R_LIBS* JULIA_* ERL_* TCLLIBPATH", "would run code in every program of its language", "会让该语言的每个程序运行代码"},
	{"GIT_SSH* GIT_CONFIG* GIT_EXEC_PATH GIT_ASKPASS GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_TEMPLATE_DIR",
		"decides which programs git runs", "决定 git 运行哪些程序"},
	{"PATH PATHEXT SHELL COMSPEC PSMODULEPATH SYSTEMROOT WINDIR EDITOR VISUAL PAGER LESSOPEN LESSCLOSE SSH_ASKPASS SUDO_ASKPASS", "decides which programs are run", "决定运行哪些程序"},
	{"HOME USERPROFILE HOMEPATH HOMEDRIVE APPDATA LOCALAPPDATA XDG_*", "decides where programs find their settings", "决定程序在何处读取设置"},
	{"TMPDIR TEMP TMP", "decides where programs put files that they load again", "决定程序存放会再次加载的文件的位置"},
	{"*_PROXY HOSTALIASES LOCALDOMAIN RES_OPTIONS", "would lead all connections elsewhere", "会把所有连接引向别处"},
	{"NPM_CONFIG_* YARN_* PNPM_* COREPACK_* NUGET_* UV_* PIP_* PIPX_*", "decides where packages come from", "决定软件包的来源"},
}

// Why returns what a variable controls; it is empty for a harmless variable.
func Why(name string) i18n.Text {
	upper := strings.ToUpper(name)
	for _, s := range steering {
		for pattern := range strings.FieldsSeq(s.names) {
			if Matches(pattern, upper) {
				return i18n.Pair(s.en, s.zh)
			}
		}
	}
	return i18n.Text{}
}

// Matches reports whether a name matches a pattern in which * is any text.
func Matches(pattern, name string) bool {
	head, tail, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	return len(name) >= len(head)+len(tail) && strings.HasPrefix(name, head) && strings.HasSuffix(name, tail)
}
