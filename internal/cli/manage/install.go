package manage

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
	"mcp-all-in-one/internal/sandbox"
)

// An offer is a server that a stranger published, before the person has said
// yes to it.
type offer struct {
	local     string
	head      string
	rows      [][2]string // what the person sees
	alarms    []string    // reasons to look twice, each asked for
	questions []install.Question
	fill      func(local string, answers install.Answers) (*install.Filled, error)
	bundle    *install.Bundle // unpacked after the yes
}

// addStranger adds a server of a registry or a bundle.
func addStranger(cmd *cobra.Command, a *env.Env, f addFlags, word string) error {
	ctx := cmd.Context()
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
	var o *offer
	if install.IsBundle(word) {
		o, err = offerBundle(ctx, a, word, "")
	} else {
		o, err = offerRecord(ctx, a, cfg, f, word)
	}
	if err != nil {
		return said(a, err)
	}
	if o.bundle != nil {
		defer o.bundle.Close()
	}
	if f.name != "" {
		o.local = f.name
	}
	return said(a, takeOffer(ctx, a, cfg, f, o, answers))
}

// said gives an error of the installer its code and the way out.
func said(a *env.Env, err error) error {
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
	return env.Fail(exit, e.Code, "", "%v", e.Text)
}

// loadOrNew is the configuration; an empty one where there is no file yet.
func loadOrNew(a *env.Env) (*config.Config, error) {
	cfg, err := a.Load(false)
	var missing *problem.LoadError
	if errors.As(err, &missing) && missing.Has("AIO2001") {
		return config.Check("", []byte(`{"mcpServers":{}}`), a.LoadOptions(false))
	}
	return cfg, err
}

// givenAnswers are those that the flags give.
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
				return nil, i18n.Errorf("%q: NAME%sVALUE", "%q：应为 NAME%sVALUE", text, flag.sep)
			}
			answers[kind][name] = append(answers[kind][name], strings.TrimSpace(value))
		}
	}
	return answers, nil
}

// registries opens the registries of the configuration.
func registries(cfg *config.Config) *install.Registries {
	return install.Open(cfg.Registries, filepath.Join(config.StateDir(), "registry"))
}

// offerRecord looks a name up and plans how it would run here.
func offerRecord(ctx context.Context, a *env.Env, cfg *config.Config, f addFlags, word string) (*offer, error) {
	name, version, _ := strings.Cut(word, "@")
	r := registries(cfg)
	defer r.Close()
	rec, err := r.Find(ctx, name, version)
	if err != nil {
		return nil, err
	}
	bases := []string{}
	for _, c := range cfg.Registries {
		bases = append(bases, strings.TrimSuffix(c.URL, "/"))
	}
	plan, err := install.NewPlan(rec, install.PlanOptions{Way: f.way, Can: inPath, Bases: bases})
	if err != nil {
		return nil, err
	}
	o := &offer{local: install.LocalName(name), questions: plan.Questions, fill: plan.Fill}
	if plan.Download != "" {
		if o, err = offerBundle(ctx, a, plan.Download, plan.SHA256); err != nil {
			return nil, err
		}
		o.local = install.LocalName(name)
		fill := o.fill
		o.fill = func(local string, answers install.Answers) (*install.Filled, error) {
			filled, err := fill(local, answers)
			if err == nil {
				plan.Mark(filled.Entry)
			}
			return filled, err
		}
		o.rows = slices.DeleteFunc(o.rows, func(r [2]string) bool { return r[0] == a.T("says", "自述") })
	}
	describeRecord(a, o, plan)
	o.alarms = append(o.alarms, alarms(a, cfg, rec)...)
	return o, nil
}

func inPath(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// alarms are what should make a person look twice at a record.
func alarms(a *env.Env, cfg *config.Config, rec *install.Record) []string {
	var list []string
	if m := rec.Meta.Official; m.Status == "deprecated" {
		list = append(list, a.T("deprecated: ", "已弃用：")+install.Show(m.Message))
	}
	var others []string
	for _, schema := range cfg.Schemas {
		for _, s := range schema.Servers {
			if s.Origin.Name != "" && s.Origin.Name != rec.Server.Name {
				others = append(others, s.Origin.Name)
			}
		}
	}
	if near := install.LooksLike(rec.Server.Name, others); near != "" {
		list = append(list, a.T("its name looks like "+near+", which is installed", "其名称与已安装的 "+near+" 相似"))
	}
	return list
}

// takeOffer asks, shows, and after a yes writes and starts.
func takeOffer(ctx context.Context, a *env.Env, cfg *config.Config, f addFlags, o *offer, answers install.Answers) error {
	if s := cfg.Schema(f.schema); s != nil && s.Server(o.local) != nil && !f.replace {
		return exists(a, o.local)
	}
	if err := unknownAnswers(o.questions, answers); err != nil {
		return err
	}
	if !f.dryRun {
		if err := askAll(ctx, a, o.questions, answers); err != nil {
			return err
		}
	}
	if err := install.Settle(o.questions, answers); err != nil {
		return err
	}
	filled, err := o.fill(o.local, answers)
	if err != nil {
		return err
	}
	if !f.noSandbox && sandbox.Supported() == nil {
		filled.Entry.Confine()
	}
	entry, err := filled.Entry.JSON()
	if err != nil {
		return err
	}
	if f.dryRun {
		return printDry(a, o, filled, entry)
	}
	if entry, err = agree(ctx, a, f, o, filled, entry); err != nil {
		return err
	}
	return carryOut(ctx, a, f, o, filled, entry)
}

func exists(a *env.Env, name string) error {
	return env.Fail(env.ExitUsage, env.CodeServerExists, "", "%s", a.T(name+" exists; --name OTHER, or --replace", name+" 已存在；请用 --name OTHER 或 --replace"))
}

// unknownAnswers refuses answers to questions that nobody asks: they are
// misspelt more often than not.
func unknownAnswers(list []install.Question, answers install.Answers) error {
	for kind, given := range answers {
		for id := range given {
			if !slices.ContainsFunc(list, func(q install.Question) bool { return q.Kind == kind && q.ID == id }) {
				return install.NotAsked(id, list)
			}
		}
	}
	return nil
}
