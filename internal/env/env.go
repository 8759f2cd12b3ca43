// Package env is the environment of one run of the program: its streams, its
// language, its config file, and how it reports errors. Commands, the daemon
// and the code for client files share it.
package env

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/secrets"
)

// An Env is one run of the program: its environment, its personality, and the
// flags that every command has.
type Env struct {
	Args   []string // the program's name comes first
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) (string, bool)

	Personality Personality
	Lang        i18n.Lang
	ConfigPath  string
	Project     bool
	Insecure    bool
	JSON        bool
	// Stop is closed when the system asks a server to end; nil if only signals
	// do.
	Stop <-chan struct{}
	// Share returns the storage that replicas share; nil if it is not needed.
	Share approval.Sharing
	// Deployed is set in a replica of a cluster whose replicas read files of
	// their own: it does not write its file.
	Deployed bool
	// Cluster are the flags of http that override the section cluster.
	Cluster config.ClusterFlags
}

// T returns the text in the user's language.
func (a *Env) T(en, zh string) string {
	if a.Lang == i18n.Chinese {
		return zh
	}
	return en
}

// Many returns the English text for a number of things: Chinese has one for all
// numbers.
func Many(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Language returns the user's language.
func Language(getenv func(string) (string, bool)) i18n.Lang {
	for _, name := range []string{"MCP_AIO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"} {
		if v, ok := getenv(name); ok && v != "" {
			return i18n.ByTag(v)
		}
	}
	return i18n.English
}

// Load reads the configuration of this run.
func (a *Env) Load(create bool) (*config.Config, error) {
	return config.Load(a.LoadOptions(create))
}

func (a *Env) LoadOptions(create bool) config.LoadOptions {
	return config.LoadOptions{
		Path: a.ConfigPath, Personality: a.Personality.Config, Project: a.Project, Insecure: a.Insecure,
		Create: create, LookupEnv: a.Getenv, Share: a.share, Deployed: a.Deployed, Cluster: a.Cluster,
	}
}

// share calls Share, which may be set after the options were made.
func (a *Env) share() (record.Documents, error) {
	if a.Share == nil {
		return nil, nil
	}
	return a.Share()
}

func (a *Env) Secrets() *secrets.UserStore { return secrets.NewUserStore(folders.UserDir(a.Home())) }

// Home returns the user's home directory; "" if there is none.
func (a *Env) Home() string { return folders.Home() }

// UserDir creates the user's directory for this program and returns it.
func (a *Env) UserDir() (string, error) {
	dir := folders.UserDir(a.Home())
	if dir == "" {
		return "", secrets.ErrNoHome
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// StdioSchema returns the schema that a stdio session serves.
func StdioSchema(a *Env, cfg *config.Config, name string) (string, error) {
	if name == "" {
		name = config.DefaultSchema
		if cfg.Schema(name) == nil && len(cfg.Schemas) == 1 {
			name = cfg.Schemas[0].Name
		}
	}
	schema := cfg.Schema(name)
	if schema != nil && schema.Enabled {
		return name, nil
	}
	said := i18n.New("Schema '%s' not found. Available schemas: %s", "没有 schema '%s'。现有：%s", name, strings.Join(cfg.Names(), ", "))
	if schema != nil {
		said = i18n.New("Schema '%s' is disabled in configuration", "schema '%s' 在配置中已停用", name)
	}
	if a.Personality.Plain {
		said = i18n.Plain(said.String()) // the words that scripts look for
	}
	e := &ExitError{
		Code: ExitUsage, ID: codeNoSchema, Plain: a.Personality.Plain, Err: i18n.Errorf("%v", "%v", said),
		Hint: a.T("use --schema with one of them", "使用 --schema 指定其中之一"),
	}
	if a.Personality.Plain {
		e.Code = ExitFailure
	}
	if schema != nil {
		e.ID = codeSchemaOff
		e.Hint = a.T("enable it in "+cfg.Path, "在 "+cfg.Path+" 中启用它")
	}
	if a.Personality.example != "" {
		e.Details = []Detail{{a.T("example", "示例"), a.Personality.example}}
	}
	return "", e
}

// LoadForServe reads the configuration of a server. The tester does not need
// one.
func (a *Env) LoadForServe() (*config.Config, error) {
	if a.Personality.Config == config.MCPTester && a.ConfigPath == "" {
		if _, err := config.Discover(a.LoadOptions(false)); err != nil {
			return config.Check("", []byte(`{"mcpServers":{}}`), a.LoadOptions(false))
		}
	}
	cfg, err := a.Load(true)
	if err == nil && cfg.Created {
		fmt.Fprintf(a.Stderr, a.T("created: %s (it did not exist)\n", "已创建：%s（原先不存在）\n"), cfg.Path)
	}
	return cfg, err
}

// Speaking returns a copy of a in the language of the user of the page.
func (a *Env) Speaking(lang i18n.Lang) *Env {
	other := *a
	other.Lang = lang
	return &other
}

var ErrLookOnly = i18n.Errorf("nothing is to be written", "无需写入")

// WriteOptions returns the options with which the console writes the config
// file: on behalf of a user who may run commands here.
func (a *Env) WriteOptions() edit.WriteOptions {
	return edit.WriteOptions{Load: a.LoadOptions(false)}
}

// SetJSON sets the flag --json.
func (a *Env) SetJSON(value string) error {
	on, err := strconv.ParseBool(value)
	if on {
		a.UseJSON()
	}
	return err
}

// UseJSON selects JSON output. JSON output is in English, independent of the
// locale.
func (a *Env) UseJSON() { a.JSON, a.Lang = true, i18n.English }
