package manage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/install/offer"
)

// addStranger adds a server from a registry, a bundle or an image. An image may have
// arguments; the others are one word.
func addStranger(cmd *cobra.Command, a *env.Env, f addFlags, words []string) error {
	if f.way != "" && !slices.Contains(install.Ways, f.way) {
		return command.UsageError(a, cmd, a.T("--package is one of "+strings.Join(install.Ways, ", "), "--package 应为 "+strings.Join(install.Ways, "、")+" 之一"))
	}
	answers, err := givenAnswers(f)
	if err != nil {
		return command.UsageError(a, cmd, a.Lang.Of(err))
	}
	cfg, err := loadOrNew(a)
	if err != nil {
		return err
	}
	var o *offer.Offer
	if install.IsImage(words[0]) {
		// An image does not say which variables it wants: they are as they were typed.
		variables := map[string]string{}
		for name, values := range answers[install.KindEnv] {
			variables[name] = values[len(values)-1]
		}
		delete(answers, install.KindEnv)
		o, err = offer.Image(cmd.Context(), cfg, words[0], variables, words[1:])
	} else {
		o, err = offer.Find(cmd.Context(), a, cfg, words[0], f.way)
	}
	if err != nil {
		return said(a, err)
	}
	defer o.Close()
	return said(a, takeOffer(cmd.Context(), a, cfg, f, o, answers))
}

// said adds the exit code and a hint to an error of the installer.
func said(a *env.Env, err error) error {
	if taken, ok := errors.AsType[*offer.Exists](err); ok {
		return env.Fail(env.ExitUsage, env.CodeServerExists, "", "%s", a.T(taken.Name+" exists; --name OTHER, or --replace", taken.Name+" 已存在；请用 --name OTHER 或 --replace"))
	}
	var e *install.Error
	if !errors.As(err, &e) {
		return err
	}
	exit := env.ExitFailure
	switch e.Code {
	case env.CodeAsk:
		exit = env.ExitPending
	case env.CodeAnswer:
		exit = env.ExitUsage
	case env.CodeRegistry:
		exit = env.ExitUnreachable
	}
	return env.Fail(exit, e.Code, wayOut(a, e.Code), "%v", e.Text)
}

// wayOut returns what to do about an error of the installer; empty if its
// message already says so.
func wayOut(a *env.Env, code string) string {
	byHand := a.Again("add", "NAME") + " -- COMMAND"
	switch code {
	case env.CodeRegistry:
		return a.T("check the connection, HTTPS_PROXY and registries in the config file; no registry is needed for: ", "请检查网络、HTTPS_PROXY 与配置文件中的 registries；不需要注册表的方式：") + byHand
	case env.CodeRecord:
		return a.T("try another version (NAME@VERSION) or another way (--package KIND); if you trust its publisher, add the command that its page names: ", "请尝试其他版本（NAME@VERSION）或其他方式（--package KIND）；若信任其发布者，可添加其主页给出的命令：") + byHand
	case env.CodeSteers:
		return a.T("ask its publisher to leave the variable out; if you trust it, add its command yourself: ", "请让其发布者去掉该变量；若信任它，可自行添加其命令：") + byHand
	case env.CodeUnconfined:
		return a.T("another way (--package KIND), or --no-sandbox: then it can do all that you can", "其他方式（--package KIND），或 --no-sandbox：它便能做你能做的一切")
	case env.CodeBundleAway:
		return a.T("check the path or the address; a path is relative to the current folder", "请检查路径或地址；路径相对于当前文件夹")
	case env.CodeBundle, env.CodeDigest:
		return a.T("get the file again from its publisher; or unpack it, read it, and add its command yourself: ", "请从其发布者重新获取该文件；或自行解包、查看后添加其命令：") + byHand
	}
	return ""
}

// loadOrNew returns the configuration, or an empty one if there is no file yet.
func loadOrNew(a *env.Env) (*config.Config, error) {
	cfg, err := a.Load(false)
	if missing, ok := errors.AsType[*problem.LoadError](err); ok && missing.Has("AIO2001") {
		return config.Check("", []byte(`{"mcpServers":{}}`), a.LoadOptions(false))
	}
	return cfg, err
}

// givenAnswers returns the answers that the flags contain.
func givenAnswers(f addFlags) (install.Answers, error) {
	answers := install.Answers{}
	for kind, flag := range map[install.Kind]struct {
		list []string
		sep  string
	}{install.KindEnv: {f.env, "="}, install.KindHeader: {f.header, ":"}, install.KindArg: {f.arg, "="}} {
		answers[kind] = map[string][]string{}
		for _, text := range flag.list {
			name, value, ok := strings.Cut(text, flag.sep)
			if name = strings.TrimSpace(name); !ok || name == "" {
				return nil, notPair(text, flag.sep)
			}
			answers[kind][name] = append(answers[kind][name], strings.TrimSpace(value))
		}
	}
	return answers, nil
}

// takeOffer asks the open questions, shows the offer, and after confirmation
// writes and starts the server.
func takeOffer(ctx context.Context, a *env.Env, cfg *config.Config, f addFlags, o *offer.Offer, answers install.Answers) error {
	terms := offer.Terms{Schema: f.schema, Local: f.name, Answers: answers, Confined: !f.noSandbox, Replace: f.replace, CreateSchema: f.createSchema}
	if err := o.Check(cfg, &terms); err != nil {
		return err
	}
	if !f.dryRun {
		if err := askAll(ctx, a, o.Questions, answers); err != nil {
			return err
		}
	}
	r, err := o.Ready(cfg, terms)
	if err != nil {
		return err
	}
	if f.dryRun {
		return printDry(a, r)
	}
	showOffer(a, r.Offer, r.Rows())
	if r.Entry, err = agree(ctx, a, a.T("Install and start it?", "安装并启动吗？"), f.yes, r); err != nil {
		return err
	}
	return carryOut(ctx, a, r)
}

// showOffer prints what would be installed, before anything runs.
func showOffer(a *env.Env, o *offer.Offer, rows []offer.Row) {
	fmt.Fprintln(a.Stderr, o.Head.In(a.Lang))
	for _, row := range rows {
		fmt.Fprintf(a.Stderr, "  %s %s\n", env.PadRight(row.Label.In(a.Lang), 8), row.Text.In(a.Lang))
	}
}

// printDry prints the entry, and the questions that would be asked.
func printDry(a *env.Env, r *offer.Ready) error {
	if a.JSON {
		fmt.Fprintf(a.Stdout, "{%q:%s}\n", r.Local, r.Entry)
		return nil
	}
	showOffer(a, r.Offer, r.Rows())
	fmt.Fprintf(a.Stdout, "%s\n", indented(fmt.Appendf(nil, "{%q:%s}", r.Local, r.Entry)))
	for _, q := range r.Offer.Questions {
		fmt.Fprintf(a.Stderr, "%s%s  %s\n", a.T("asks for ", "会询问 "), install.Show(q.ID), install.Show(q.Description))
	}
	return nil
}

func indented(raw []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return raw
	}
	return b.Bytes()
}

func SearchCommand(a *env.Env) *cobra.Command {
	return &cobra.Command{
		Use: "search WORD", Short: a.T("look for servers in the registries", "在注册表中查找服务器"), Args: command.ArgCount(a, 1, 1),
		Long: a.T("Lists the servers in MCP registries whose names contain WORD. `registries` in the config file sets which registries are searched.",
			"列出 MCP 注册表中名称含有 WORD 的服务器。查找哪些注册表由配置文件中的 `registries` 决定。"),
		Example: "  mcp-all-in-one search airtable\n  mcp-all-in-one add io.github.domdomegg/airtable-mcp-server",
		RunE: func(cmd *cobra.Command, args []string) error {
			if utf8.RuneCountInString(strings.TrimSpace(args[0])) < install.MinSearch {
				return command.UsageError(a, cmd, a.T("a word to search for has at least three characters", "查找的词至少要有三个字符"))
			}
			return search(cmd, a, strings.TrimSpace(args[0]))
		},
	}
}

func search(cmd *cobra.Command, a *env.Env, word string) error {
	cfg, err := loadOrNew(a)
	if err != nil {
		return err
	}
	list, faults := offer.Search(cmd.Context(), cfg, word)
	if len(list) == 0 && len(faults) > 0 {
		return said(a, faults[0])
	}
	for _, fault := range faults {
		if e, ok := errors.AsType[*install.Error](fault); ok {
			fmt.Fprintln(a.Stderr, e.In(a.Lang))
		}
	}
	t := &env.Table{Head: []string{a.T("NAME", "名称"), a.T("VERSION", "版本"), a.T("KINDS", "方式"), a.T("STATUS", "状态"), a.T("NOTE", "备注"), a.T("DESCRIPTION", "说明")},
		None: a.T("no registry has a server whose name contains "+word, "没有注册表收录含有 "+word+" 的名称")}
	for _, f := range list {
		note := ""
		switch {
		case f.LooksLike != "":
			note = a.T("looks like ", "类似 ") + f.LooksLike
		case f.Installed != "":
			note = a.T("installed as ", "已安装为 ") + f.Installed
		}
		t.Add(f.Name, f.Version, strings.Join(f.Kinds, ","), f.Status, note, f.Description)
	}
	env.Show(a, list, t)
	return nil
}
