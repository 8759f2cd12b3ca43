package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// importFlags are those of import.
type importFlags struct {
	schema                        string
	dryRun, replace, storeSecrets bool
	tree                          bool
	rename                        map[string]string
	// ask asks a person for the name of a server whose name is taken; nil when
	// nobody is there.
	ask func(name string) (string, error)
}

func importCommand(a *app) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import [CLIENT|FILE|-]...",
		Short: a.t("take over the servers of other programs", "导入其他程序的服务"),
		Long: a.t("Takes over the servers of other programs. Without arguments it only lists what there\nis. What cannot be taken over is said; secrets can be moved into the secret store.\nFiles of the working tree, such as .cursor/mcp.json, are read with --from-project. The\nname of a client comes before a file of that name: ./cursor is the file. A server\nwhose name another one has is skipped, unless --rename or --replace says otherwise;\non a terminal you are asked.",
			"导入其他程序的服务。不带参数时只列出可导入的内容。\n无法导入的内容会逐项说明；密钥可以移入密钥库。\n使用 --from-project 读取工作目录中的文件，如 .cursor/mcp.json。\n客户端名称优先于同名文件：./cursor 表示文件。名称已被占用的服务会跳过，\n除非使用 --rename 或 --replace；在终端中会询问。"),
		Example: "  mcp-all-in-one import\n  mcp-all-in-one import cursor claude-code --dry-run\n  mcp-all-in-one import vscode --store-secrets\n  mcp-all-in-one import cursor --from-project\n  mcp-all-in-one import cursor --rename files=files-cursor\n  mcp-all-in-one import ./mcp.json",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: completeClients,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return importSources(a)
			}
			return runImport(a, cmd, f, args)
		},
	}
	flags := cmd.Flags()
	addSchemaFlag(a, cmd, &f.schema)
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, a.t("say what would be done and write nothing", "只说明将做什么，不写入"))
	flags.BoolVar(&f.replace, "replace", false, a.t("replace servers of the same name that differ", "替换同名但内容不同的服务"))
	flags.StringToStringVar(&f.rename, "rename", nil, a.t("import the server under another name, as `NAME=NEW`; may be repeated", "以其他名称导入服务，格式为 `NAME=NEW`；可重复"))
	flags.BoolVar(&f.tree, "from-project", false, a.t("read the files of the working tree too", "同时读取工作目录中的文件"))
	flags.BoolVar(&f.storeSecrets, "store-secrets", false, a.t("move secrets into the secret store", "将密钥移入密钥库"))
	return cmd
}

func runImport(a *app, cmd *cobra.Command, f importFlags, args []string) error {
	var from []importSource
	for _, arg := range args {
		s, err := sourceOf(a, arg)
		if err != nil {
			return err
		}
		from = append(from, s)
	}
	var list []translation
	var failed []error // one file that cannot be read stops only itself
	for _, s := range from {
		found, errs := readImport(a, s, f.tree)
		list, failed = append(list, found...), append(failed, errs...)
	}
	if !f.dryRun && !a.asJSON {
		f.ask = askName(cmd.Context(), a)
	}
	done, err := importAll(cmd.Context(), a, list, f)
	if err != nil {
		return err
	}
	sayImported(a, done, len(failed) > 0)
	for i, err := range failed {
		if i == len(failed)-1 {
			return err
		}
		a.report(err)
	}
	return nil
}

// sayImported says what became of every server. Where none was found because
// of an error, that is said by the error.
func sayImported(a *app, done []imported, failed bool) {
	if a.asJSON {
		if len(done) > 0 || !failed {
			writeLine(a.Stdout, done)
		}
		return
	}
	for _, d := range done {
		fmt.Fprintf(a.Stdout, "%s\t%s%s\n", d.Name, d.Outcome, underName(a, d))
		for _, note := range d.Notes {
			fmt.Fprintf(a.Stderr, "  %s%s%s\n", d.Name, a.t(": ", "："), note)
		}
	}
}

func unreadable(path string, err error) i18n.Text {
	return i18n.New("%s: %v", "无法使用 %s：%v", path, err)
}

// An imported says what became of one server.
type imported struct {
	Name    string   `json:"name"`
	As      string   `json:"as,omitempty"` // its name here, when that is another
	Outcome string   `json:"outcome"`
	Notes   []string `json:"notes,omitempty"`
	added   bool
}

// importAll writes servers into our file, in one write.
func importAll(ctx context.Context, a *app, list []translation, f importFlags) ([]imported, error) {
	if f.schema == "" {
		f.schema = config.DefaultSchema
	}
	have := haveEntries(a, f.schema)
	var done []imported
	var adding []translation
	for _, t := range list {
		d := imported{Name: t.own, Notes: t.notes}
		add, err := decideImport(a, &t, &d, have, f)
		if err != nil {
			return nil, err
		}
		if add {
			if err := secure(a, &t, &d, f); err != nil {
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
				return i18n.Errorf("%s: %w", "%s：%w", t.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, err = reloadRunning(ctx, a, found.Path)
	return done, err
}

// decideImport says whether a server is written, and under which name.
func decideImport(a *app, t *translation, d *imported, have entries, f importFlags) (add bool, err error) {
	if t.skip == "" {
		if err := t.settleName(have, f); err != nil {
			return false, err
		}
	}
	why := t.skip
	if why == "" {
		why = refused(a, have, *t)
	}
	switch how := have.compare(*t); {
	case why != "":
		d.Outcome = a.t("skipped: ", "跳过：") + why
	case how == "same":
		d.Outcome = a.t("there already", "已存在")
	case how == "conflict" && !f.replace && !t.replace:
		d.Outcome = a.t("skipped: ", "跳过：") + nameTaken(a, *t) + a.t(", --replace", "、--replace")
	default:
		d.Outcome, d.added = a.t("imported", "已导入"), true
		if f.dryRun {
			d.Outcome = a.t("would be imported", "将导入")
		}
		if t.name != t.own {
			d.As = t.name
		}
	}
	return d.added, nil
}

// secure moves the secrets of an entry into the store, or says that they
// stand in the file.
func secure(a *app, t *translation, d *imported, f importFlags) error {
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
