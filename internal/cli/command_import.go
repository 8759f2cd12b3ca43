package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
)

// ImportFlags are those of import.
type ImportFlags struct {
	Schema                        string
	DryRun, Replace, StoreSecrets bool
	Tree                          bool
	Rename                        map[string]string
	// Ask asks a person for the name of a server whose name is taken; nil when
	// nobody is there.
	Ask func(name string) (string, error)
}

func ImportCommand(a *Env) *cobra.Command {
	var f ImportFlags
	cmd := &cobra.Command{
		Use:   "import [CLIENT|FILE|-]...",
		Short: a.T("take over the servers of other programs", "导入其他程序的服务"),
		Long: a.T("Takes over the servers of other programs. Without arguments it only lists what there\nis. What cannot be taken over is said; secrets can be moved into the secret store.\nFiles of the working tree, such as .cursor/mcp.json, are read with --from-project. The\nname of a client comes before a file of that name: ./cursor is the file. A server\nwhose name another one has is skipped, unless --rename or --replace says otherwise;\non a terminal you are asked.",
			"导入其他程序的服务。不带参数时只列出可导入的内容。\n无法导入的内容会逐项说明；密钥可以移入密钥库。\n使用 --from-project 读取工作目录中的文件，如 .cursor/mcp.json。\n客户端名称优先于同名文件：./cursor 表示文件。名称已被占用的服务会跳过，\n除非使用 --rename 或 --replace；在终端中会询问。"),
		Example: "  mcp-all-in-one import\n  mcp-all-in-one import cursor claude-code --dry-run\n  mcp-all-in-one import vscode --store-secrets\n  mcp-all-in-one import cursor --from-project\n  mcp-all-in-one import cursor --rename files=files-cursor\n  mcp-all-in-one import ./mcp.json",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: completeClients,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return ImportSources(a)
			}
			return runImport(a, cmd, f, args)
		},
	}
	flags := cmd.Flags()
	AddSchemaFlag(a, cmd, &f.Schema)
	flags.BoolVarP(&f.DryRun, "dry-run", "n", false, a.T("say what would be done and write nothing", "只说明将做什么，不写入"))
	flags.BoolVar(&f.Replace, "replace", false, a.T("replace servers of the same name that differ", "替换同名但内容不同的服务"))
	flags.StringToStringVar(&f.Rename, "rename", nil, a.T("import the server under another name, as `NAME=NEW`; may be repeated", "以其他名称导入服务，格式为 `NAME=NEW`；可重复"))
	flags.BoolVar(&f.Tree, "from-project", false, a.T("read the files of the working tree too", "同时读取工作目录中的文件"))
	flags.BoolVar(&f.StoreSecrets, "store-secrets", false, a.T("move secrets into the secret store", "将密钥移入密钥库"))
	return cmd
}

func runImport(a *Env, cmd *cobra.Command, f ImportFlags, args []string) error {
	var from []ImportSource
	for _, arg := range args {
		s, err := SourceOf(a, arg)
		if err != nil {
			return err
		}
		from = append(from, s)
	}
	var list []Translation
	var failed []error // one file that cannot be read stops only itself
	for _, s := range from {
		found, errs := ReadImport(a, s, f.Tree)
		list, failed = append(list, found...), append(failed, errs...)
	}
	if !f.DryRun && !a.JSON {
		f.Ask = AskName(cmd.Context(), a)
	}
	done, err := ImportAll(cmd.Context(), a, list, f)
	if err != nil {
		return err
	}
	sayImported(a, done, len(failed) > 0)
	for i, err := range failed {
		if i == len(failed)-1 {
			return err
		}
		a.Report(err)
	}
	return nil
}

// sayImported says what became of every server. Where none was found because
// of an error, that is said by the error.
func sayImported(a *Env, done []Imported, failed bool) {
	if a.JSON {
		if len(done) > 0 || !failed {
			WriteLine(a.Stdout, done)
		}
		return
	}
	for _, d := range done {
		fmt.Fprintf(a.Stdout, "%s\t%s%s\n", d.Name, d.Outcome, UnderName(a, d))
		for _, note := range d.Notes {
			fmt.Fprintf(a.Stderr, "  %s%s%s\n", d.Name, a.T(": ", "："), note)
		}
	}
}

func unreadable(path string, err error) i18n.Text {
	return i18n.New("%s: %v", "无法使用 %s：%v", path, err)
}

// An Imported says what became of one server.
type Imported struct {
	Name    string   `json:"name"`
	As      string   `json:"as,omitempty"` // its name here, when that is another
	Outcome string   `json:"outcome"`
	Notes   []string `json:"notes,omitempty"`
	added   bool
}

// ImportAll writes servers into our file, in one write.
func ImportAll(ctx context.Context, a *Env, list []Translation, f ImportFlags) ([]Imported, error) {
	if f.Schema == "" {
		f.Schema = config.DefaultSchema
	}
	have := haveEntries(a, f.Schema)
	var done []Imported
	var adding []Translation
	for _, t := range list {
		d := Imported{Name: t.own, Notes: t.notes}
		add, err := decideImport(a, &t, &d, have, f)
		if err != nil {
			return nil, err
		}
		if add {
			if err := secure(a, &t, &d, f); err != nil {
				return nil, err
			}
			adding = append(adding, t)
			have.named[t.Name] = t.entry
		}
		done = append(done, d)
	}
	if f.DryRun || len(adding) == 0 {
		return done, nil
	}
	found, err := config.Discover(a.LoadOptions(true))
	if err != nil {
		return nil, err
	}
	_, err = config.Update(found.Path, a.WriteOptions(), func(d *config.Draft) error {
		for _, t := range adding {
			raw, err := json.Marshal(t.entry)
			if err == nil {
				err = d.SetServer(f.Schema, t.Name, raw)
			}
			if err != nil {
				return i18n.Errorf("%s: %w", "%s：%w", t.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, err = ReloadRunning(ctx, a, found.Path)
	return done, err
}

// decideImport says whether a server is written, and under which name.
func decideImport(a *Env, t *Translation, d *Imported, have entries, f ImportFlags) (add bool, err error) {
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
		d.Outcome = a.T("skipped: ", "跳过：") + why
	case how == "same":
		d.Outcome = a.T("there already", "已存在")
	case how == "conflict" && !f.Replace && !t.replace:
		d.Outcome = a.T("skipped: ", "跳过：") + nameTaken(a, *t) + a.T(", --replace", "、--replace")
	default:
		d.Outcome, d.added = a.T("imported", "已导入"), true
		if f.DryRun {
			d.Outcome = a.T("would be imported", "将导入")
		}
		if t.Name != t.own {
			d.As = t.Name
		}
	}
	return d.added, nil
}

// secure moves the secrets of an entry into the store, or says that they
// stand in the file.
func secure(a *Env, t *Translation, d *Imported, f ImportFlags) error {
	if !f.StoreSecrets {
		if n := t.secrets(nil); n > 0 {
			d.Notes = append(d.Notes, a.T(fmt.Sprintf("%d secrets in plain text; --store-secrets moves them into the secret store", n),
				fmt.Sprintf("%d 个明文密钥；--store-secrets 可移入密钥库", n)))
		}
		return nil
	}
	stored := a.T("stored: ", "已保存：")
	if f.DryRun {
		stored = a.T("would be stored: ", "将保存：")
	}
	var failed error
	t.secrets(func(name, value string) string {
		if !f.DryRun && failed == nil {
			if _, failed = a.UserDir(); failed == nil {
				failed = a.Secrets().Set(name, value)
			}
		}
		d.Notes = append(d.Notes, stored+"${secret:"+name+"}")
		return "${secret:" + name + "}"
	})
	return failed
}
