// Package steering lists the environment variables that decide which code or
// libraries a program loads, or whom it trusts. Untrusted sources must not set
// them: registries, bundles and users of a server.
package steering

import (
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

type variables []struct{ names, en, zh string }

// steering are the variables in upper case; * matches any text.
var steering = variables{
	{"LD_* DYLD_* GCONV_PATH GLIBC_TUNABLES LOCPATH NLSPATH", "decides which libraries every program loads", "决定每个程序加载哪些库"},
	{"OPENSSL_*", "decides which libraries TLS loads", "决定 TLS 加载哪些库"},
	{"NODE_TLS_REJECT_UNAUTHORIZED GIT_SSL_*", "decides which servers are trusted", "决定信任哪些服务器"},
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
	{"GIT_SSH* GIT_CONFIG* GIT_EXEC_PATH GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_TEMPLATE_DIR GIT_DIR GIT_COMMON_DIR",
		"decides which programs git runs", "决定 git 运行哪些程序"},
	{"PATH PATHEXT SHELL COMSPEC PSMODULEPATH SYSTEMROOT WINDIR *EDITOR VISUAL *PAGER *_WRAPPER NPM_*EXECPATH GOFLAGS MAKEFLAGS LESSOPEN LESSCLOSE SSH_ASKPASS SUDO_ASKPASS", "decides which programs are run", "决定运行哪些程序"},
	{"HOME USERPROFILE HOMEPATH HOMEDRIVE APPDATA LOCALAPPDATA XDG_* CARGO_HOME", "decides where programs find their settings", "决定程序在何处读取设置"},
	{"TMPDIR TEMP TMP", "decides where programs put files that they load again", "决定程序存放会再次加载的文件的位置"},
	{"*_PROXY HOSTALIASES LOCALDOMAIN RES_OPTIONS", "would lead all connections elsewhere", "会把所有连接引向别处"},
	{"NPM_CONFIG_* YARN_* PNPM_* COREPACK_* NUGET_* UV_* PIP_* PIPX_*", "decides where packages come from", "决定软件包的来源"},
}

// asked are the variables that the person who installs a server may have a
// reason to set.
var asked = variables{
	{"SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS *_CA_BUNDLE", "decides which servers are trusted", "决定信任哪些服务器"},
	{"BROWSER *_EXECUTABLE_PATH", "decides which programs are run", "决定运行哪些程序"},
	{"DOCKER_HOST DOCKER_CON* DOCKER_CERT_PATH DOCKER_TLS* CONTAINER_HOST", "decides where containers run", "决定容器在何处运行"},
	{"KUBECONFIG AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE", "names a file that can run programs", "指定的文件可以运行程序"},
}

// Why returns what a variable controls; it is empty for a harmless variable.
func Why(name string) i18n.Text { return slices.Concat(steering, asked).why(name) }

// Asked returns what a variable controls that only the person who installs a
// server may set; it is empty for all others.
func Asked(name string) i18n.Text { return asked.why(name) }

func (list variables) why(name string) i18n.Text {
	upper := strings.ToUpper(name)
	for _, s := range list {
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
