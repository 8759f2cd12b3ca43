package install

import (
	"fmt"
	"strings"
	"testing"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcptest/must"
)

// A record may set variables of its server, but none that makes a program load
// or run other code.
func TestSteeringVariables(t *testing.T) {
	for name := range strings.FieldsSeq(`
		OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES OPENSSL_CONF_INCLUDE SSLKEYLOGFILE LD_LIBRARY_PATH LD_AUDIT DYLD_LIBRARY_PATH GCONV_PATH GLIBC_TUNABLES LOCPATH
		NODE_PATH NODE_COMPILE_CACHE NODE_REPL_EXTERNAL_MODULE PYTHONSTARTUP PYTHONHOME PYTHONINSPECT __PYVENV_LAUNCHER__ ZDOTDIR PROMPT_COMMAND SHELLOPTS PS4 SHELL IFS
		PERL5OPT PERL5LIB PERLLIB PERL5DB RUBYOPT RUBYLIB GEM_PATH BUNDLE_GEMFILE PHPRC PHP_INI_SCAN_DIR LUA_INIT LUA_INIT_5_4 R_PROFILE_USER JULIA_LOAD_PATH ERL_FLAGS TCLLIBPATH
		GIT_SSH_COMMAND GIT_SSH GIT_CONFIG_GLOBAL GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_EXEC_PATH GIT_ASKPASS GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_TEMPLATE_DIR SSH_ASKPASS EDITOR PAGER LESSOPEN
		npm_config_userconfig NPM_CONFIG_GLOBALCONFIG YARN_RC_FILENAME PNPM_HOME BUN_OPTIONS BUN_CONFIG_REGISTRY DENO_DIR COREPACK_NPM_REGISTRY NUGET_PACKAGES UV_CONFIG_FILE PIP_CONFIG_FILE PIPX_DEFAULT_PYTHON
		JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH JAVA_HOME DOTNET_STARTUP_HOOKS DOTNET_ADDITIONAL_DEPS DOTNET_SHARED_STORE DOTNET_ROOT DOTNET_GCName CORECLR_PROFILER_PATH COR_PROFILER COMPlus_GCName
		BASH_ENV VISUAL SYSTEMD_EDITOR HGEDITOR SVN_EDITOR GIT_SEQUENCE_EDITOR MANPAGER GIT_PAGER RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_HOME GOFLAGS MAKEFLAGS npm_execpath npm_node_execpath
		GIT_DIR GIT_COMMON_DIR NODE_TLS_REJECT_UNAUTHORIZED GIT_SSL_NO_VERIFY
		GTK_MODULES GIO_EXTRA_MODULES QT_PLUGIN_PATH HOSTALIASES PATHEXT COMSPEC PSModulePath SYSTEMROOT HOME USERPROFILE XDG_CONFIG_HOME APPDATA TMPDIR TEMP TMP`) {
		t.Run("install/bad-plan/"+name, func(t *testing.T) {
			_, err := planOf(t, fmt.Sprintf(`%s,"environmentVariables":[{"name":%q,"value":"x"}]}]`, npmHead, name))
			if err == nil || codeOf(err) != env.CodeSteers || !strings.Contains(err.Error(), "sets "+name+", which ") {
				t.Errorf("error %v", err)
			}
		})
	}
	for name := range strings.FieldsSeq(`NODE_ENV GIT_TOKEN GIT_AUTHOR_NAME GITHUB_TOKEN DOTNET_ENVIRONMENT JAVA_SERVICE_URL OPENAI_API_KEY ENVIRONMENT HOME_ASSISTANT_URL
		PERPLEXITY_API_KEY TMP_LIMIT PATH_PREFIX PSQL_URL SHELL_ALLOWED R_LIMIT QTEST IFS_URL LUA EDITOR_URL DOCKER_USERNAME CARGO_REGISTRY_TOKEN AWS_REGION SSL_VERIFY CONFIG_FILE BROWSER_NAME`) {
		t.Run("install/plan/"+name, func(t *testing.T) {
			if _, err := planOf(t, fmt.Sprintf(`%s,"environmentVariables":[{"name":%q,"value":"x"}]}]`, npmHead, name)); err != nil {
				t.Error(err)
			}
		})
	}
}

// A person may type what leads a server to programs and files; a record may not
// decide it.
func TestSteeringAnswers(t *testing.T) {
	const setting = `{"name":%q%s}`
	for name := range strings.FieldsSeq(`BROWSER PUPPETEER_EXECUTABLE_PATH PLAYWRIGHT_CHROMIUM_EXECUTABLE_PATH SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
		AWS_CA_BUNDLE DOCKER_HOST DOCKER_CONFIG DOCKER_CONTEXT CONTAINER_HOST KUBECONFIG AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE`) {
		for _, own := range []string{`,"value":"/x"`, `,"value":"/x/{a}","variables":{"a":{}}`, `,"value":"{a}","variables":{"a":{"value":"/x"}}`, `,"value":"{a}"`} {
			t.Run("install/bad-plan/"+name+own, func(t *testing.T) {
				_, err := planOf(t, npmHead+`,"environmentVariables":[`+fmt.Sprintf(setting, name, own)+`]}]`)
				if err == nil || codeOf(err) != env.CodeSteers || !strings.Contains(err.Error(), "sets "+name+" itself, ") {
					t.Errorf("error %v", err)
				}
			})
		}
		for _, asked := range []string{``, `,"default":"/x"`, `,"choices":["/x","/y"],"isRequired":true`, `,"value":"{a}","variables":{"a":{"default":"/x"}}`} {
			t.Run("install/plan/"+name+asked, func(t *testing.T) {
				p, err := planOf(t, npmHead+`,"environmentVariables":[{"name":"A","value":"{a}","variables":{"a":{"default":"/x"}}},`+fmt.Sprintf(setting, name, asked)+`]}]`)
				if err != nil {
					t.Fatal(err)
				}
				answers := Answers{}
				must.OK(t, Settle(p.Questions, answers))
				if f, err := p.Fill("x", answers); err != nil || f.Entry.Env[name] != "" {
					t.Errorf("without an answer it is %q, %v", f.Entry.Env[name], err)
				}
				for i := range p.Questions {
					answers.Set(&p.Questions[i], "/mine")
				}
				must.OK(t, Settle(p.Questions, answers))
				if f, err := p.Fill("x", answers); err != nil || f.Entry.Env[name] != "/mine" {
					t.Errorf("with an answer it is %q, %v", f.Entry.Env[name], err)
				}
			})
		}
	}
}
