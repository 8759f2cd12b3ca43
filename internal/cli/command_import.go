package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/say"
)

// importFlags are those of import.
type importFlags struct {
	schema                        string
	dryRun, replace, storeSecrets bool
	tree                          bool
}

func (a *app) importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import [CLIENT|FILE|-]...",
		Short: a.t("take over the servers of other programs", "导入其他程序的服务"),
		Long: a.t("Takes over the servers of other programs. Without arguments it only lists what there\nis. What cannot be taken over is said; secrets can be moved into the secret store.\nFiles of the working tree, such as .cursor/mcp.json, are read with --from-project.",
			"导入其他程序的服务。不带参数时只列出可导入的内容。\n无法导入的内容会逐项说明；密钥可以移入密钥库。\n使用 --from-project 读取工作目录中的文件，如 .cursor/mcp.json。"),
		Example: "  mcp-all-in-one import\n  mcp-all-in-one import cursor claude-code --dry-run\n  mcp-all-in-one import vscode --store-secrets\n  mcp-all-in-one import cursor --from-project\n  mcp-all-in-one import ./mcp.json",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: a.completeClients,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.importSources()
			}
			return a.runImport(cmd, f, args)
		},
	}
	flags := cmd.Flags()
	a.addSchemaFlag(cmd, &f.schema)
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, a.t("say what would be done and write nothing", "只说明将做什么，不写入"))
	flags.BoolVar(&f.replace, "replace", false, a.t("replace servers of the same name that differ", "替换同名但内容不同的服务"))
	flags.BoolVar(&f.tree, "from-project", false, a.t("read the files of the working tree too", "同时读取工作目录中的文件"))
	flags.BoolVar(&f.storeSecrets, "store-secrets", false, a.t("move secrets into the secret store", "将密钥移入密钥库"))
	return cmd
}

func (a *app) runImport(cmd *cobra.Command, f importFlags, args []string) error {
	var list []translation
	for _, arg := range args {
		found, err := a.source(arg, f.tree)
		if err != nil {
			return err
		}
		list = append(list, found...)
	}
	done, err := a.importAll(cmd.Context(), list, f)
	if err != nil {
		return err
	}
	if a.asJSON {
		writeLine(a.Stdout, done)
		return nil
	}
	for _, d := range done {
		fmt.Fprintf(a.Stdout, "%s\t%s\n", d.Name, d.Outcome)
		for _, note := range d.Notes {
			fmt.Fprintf(a.Stderr, "  %s%s%s\n", d.Name, a.t(": ", "："), note)
		}
	}
	return nil
}

// source reads the servers of a client, of a file, or of standard input.
func (a *app) source(arg string, tree bool) ([]translation, error) {
	c := &client{id: "file", key: "mcpServers"}
	var servers []foreign
	var err error
	if _, statErr := os.Stat(arg); arg == "-" || statErr == nil {
		if servers, err = a.anyFile(arg); err != nil {
			return nil, err
		}
	} else {
		if c, err = a.findClient(arg); err != nil && strings.ContainsAny(arg, "./") {
			return nil, fail(exitUsage, codeClientFile, "", "%v", statErr)
		}
		if err != nil {
			return nil, err
		}
		places := a.clientSources(c, tree)
		if len(places) == 0 {
			hint := a.t("looked for ", "已查找 ") + strings.Join(c.paths(a.home(), a.Getenv), ", ")
			if len(a.clientSources(c, true)) > 0 {
				hint = a.t("--from-project reads that of the working tree", "--from-project 读取工作目录中的文件")
			}
			return nil, fail(exitUsage, codeClientFile, hint, "%s", a.t(c.name+" has no file here", "没有 "+c.name+" 的配置文件"))
		}
		for _, place := range places {
			more, err := a.readSource(c, place)
			if err != nil {
				return nil, err
			}
			servers = append(servers, more...)
		}
	}
	var list []translation
	for _, s := range servers {
		list = append(list, a.translate(c, s))
	}
	return list, nil
}

// anyFile reads servers from a file whose shape its keys tell.
func (a *app) anyFile(path string) ([]foreign, error) {
	read := func() ([]byte, error) { return os.ReadFile(path) }
	if path == "-" {
		read = func() ([]byte, error) { return io.ReadAll(a.Stdin) }
	}
	data, err := read()
	if err != nil {
		return nil, err
	}
	format := clientJSON
	switch {
	case strings.HasSuffix(path, ".toml"):
		format = clientTOML
	case strings.HasSuffix(path, ".yaml"), strings.HasSuffix(path, ".yml"):
		format = clientYAML
	}
	var last error
	for _, key := range []string{"mcpServers", "servers", "mcp_servers", "context_servers", "mcp", "extensions", "mcp-tester.servers"} {
		for _, list := range []bool{false, true} {
			servers, err := parseClient(data, &client{key: key, list: list, format: format})
			if err != nil {
				last = err
			}
			if len(servers) > 0 {
				return servers, nil
			}
		}
	}
	if last == nil {
		last = errors.New(a.t("no servers in it", "其中没有服务"))
	}
	return nil, fail(exitUsage, codeClientFile, "", "%v", unreadable(path, last))
}

func unreadable(path string, err error) say.Text {
	return say.New("%s: %v", "无法使用 %s：%v", path, err)
}

// An imported says what became of one server.
type imported struct {
	Name    string   `json:"name"`
	Outcome string   `json:"outcome"`
	Notes   []string `json:"notes,omitempty"`
	added   bool
}

// importAll writes servers into our file, in one write.
func (a *app) importAll(ctx context.Context, list []translation, f importFlags) ([]imported, error) {
	if f.schema == "" {
		f.schema = config.DefaultSchema
	}
	have := a.haveEntries(f.schema)
	var done []imported
	var adding []translation
	for _, t := range list {
		d := imported{Name: t.name, Notes: t.notes}
		switch how := have.compare(t); {
		case t.skip != "":
			d.Outcome = a.t("skipped: ", "跳过：") + t.skip
		case how == "same":
			d.Outcome = a.t("there already", "已存在")
		case how == "conflict" && !f.replace:
			d.Outcome = a.t("skipped: another server has this name (--replace)", "跳过：已有同名服务（--replace）")
		default:
			d.Outcome, d.added = a.t("imported", "已导入"), true
			if f.dryRun {
				d.Outcome = a.t("would be imported", "将导入")
			}
			if err := a.secure(&t, &d, f); err != nil {
				return nil, err
			}
			adding = append(adding, t)
			have.named[t.name] = t.entry
		}
		done = append(done, d)
	}
	if f.dryRun || len(adding) == 0 {
		return done, nil
	}
	found, err := config.Discover(a.loadOptions(true))
	if err != nil {
		return nil, err
	}
	_, err = config.Update(found.Path, a.writeOptions(), func(d *config.Draft) error {
		for _, t := range adding {
			raw, err := json.Marshal(t.entry)
			if err == nil {
				err = d.SetServer(f.schema, t.name, raw)
			}
			if err != nil {
				return say.Errorf("%s: %w", "%s：%w", t.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, err = a.reloadRunning(ctx, found.Path)
	return done, err
}

// secure moves the secrets of an entry into the store, or says that they
// stand in the file.
func (a *app) secure(t *translation, d *imported, f importFlags) error {
	if !f.storeSecrets {
		if n := t.secrets(nil); n > 0 {
			d.Notes = append(d.Notes, a.t(fmt.Sprintf("%d secrets in plain text; --store-secrets moves them into the secret store", n),
				fmt.Sprintf("%d 个明文密钥；--store-secrets 可移入密钥库", n)))
		}
		return nil
	}
	stored := a.t("stored: ", "已保存：")
	if f.dryRun {
		stored = a.t("would be stored: ", "将保存：")
	}
	var failed error
	t.secrets(func(name, value string) string {
		if !f.dryRun && failed == nil {
			if _, failed = a.userDir(); failed == nil {
				failed = a.secrets().Set(name, value)
			}
		}
		d.Notes = append(d.Notes, stored+"${secret:"+name+"}")
		return "${secret:" + name + "}"
	})
	return failed
}
