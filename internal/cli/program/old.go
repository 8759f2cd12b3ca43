package program

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
)

// noPath is the value of a flag that was given without its path.
const noPath = "\x00"

// oldFlags are the flags from before there were commands.
type oldFlags struct {
	validate, show, set string
	schema, version     bool
}

func AddOldSpellings(a *env.Env, cmd *cobra.Command) {
	var f oldFlags
	flags := cmd.Flags()
	path := func(p *string, name, about string) {
		flags.StringVar(p, name, "", about)
		flags.Lookup(name).NoOptDefVal = noPath
	}
	path(&f.validate, "validate-mcp-config", a.T("check the config file `PATH`", "验证配置文件 `PATH`"))
	path(&f.show, "show-mcp-config", a.T("print the config file `PATH`", "显示配置文件 `PATH` 的内容"))
	path(&f.set, "set-mcp-config", a.T("replace the config file `PATH` by standard input", "用标准输入替换配置文件 `PATH`"))
	flags.BoolVar(&f.schema, "show-mcp-config-schema", false, a.T("print the JSON Schema of the config file", "显示配置文件的 JSON Schema"))
	flags.BoolVarP(&f.version, "version", "V", false, a.T("print the version", "显示版本"))
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runOld(a, cmd, f, args) }
}

// runOld runs an old flag. Without any flag it shows the help.
func runOld(a *env.Env, cmd *cobra.Command, f oldFlags, args []string) error {
	for _, old := range []struct {
		value string
		run   func() error
	}{{f.validate, func() error { return oldValidate(a) }}, {f.show, func() error { return oldShow(a) }}, {f.set, func() error { return oldSet(a) }}} {
		if old.value == "" {
			continue
		}
		switch {
		case old.value != noPath:
			a.ConfigPath = old.value
		case len(args) > 0:
			a.ConfigPath, args = args[0], args[1:]
		}
		if len(args) > 0 {
			return command.UsageError(a, cmd, a.T("unexpected argument ", "多余的参数 ")+args[0])
		}
		return old.run()
	}
	switch {
	case len(args) > 0:
		return command.UnknownCommand(a, cmd, args[0])
	case f.schema:
		a.Stdout.Write(config.JSONSchema())
		return nil
	case f.version:
		// The number is alone on its line because scripts read it.
		fmt.Fprintf(a.Stdout, "%s\n%s\n", mcp.ProductVersion, command.Build(a))
		return nil
	}
	return cmd.Help()
}

func oldValidate(a *env.Env) error {
	cfg, err := a.Load(false)
	if err != nil {
		return oldFailure(a, err)
	}
	total, types := 0, map[string]int{}
	for _, schema := range cfg.Schemas {
		for _, s := range schema.Servers {
			total++
			types[s.Type]++
		}
	}
	fmt.Fprintln(a.Stdout, "✅ 配置文件验证通过")
	fmt.Fprintf(a.Stdout, "📊 服务数量: %d\n", total)
	for _, t := range []string{config.TypeStdio, config.TypeHTTP, config.TypeSSE, config.TypeAuto} {
		if types[t] > 0 {
			fmt.Fprintf(a.Stdout, "   %s: %d\n", t, types[t])
		}
	}
	for _, p := range cfg.Problems {
		fmt.Fprintln(a.Stderr, p.In(i18n.Chinese))
	}
	return nil
}

func oldShow(a *env.Env) error {
	found, err := config.Discover(a.LoadOptions(false))
	if err != nil {
		return oldFailure(a, err)
	}
	data, err := os.ReadFile(found.Path)
	if err != nil {
		return oldFailure(a, err)
	}
	fmt.Fprintln(a.Stdout, "📄 mcp-all-in-one的MCP配置文件内容:")
	fmt.Fprintf(a.Stdout, "路径: %s\n", found.Path)
	var content any
	if json.Unmarshal(data, &content) != nil {
		_, err = a.Stdout.Write(data) // JSONC or YAML: print it unchanged
		return err
	}
	pretty, err := json.MarshalIndent(json.RawMessage(data), "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s\n", pretty)
	return nil
}

func oldSet(a *env.Env) error {
	data, err := io.ReadAll(a.Stdin)
	if err != nil {
		return i18n.Errorf("reading standard input: %w", "读取标准输入失败：%w", err)
	}
	var content any
	if err := json.Unmarshal(data, &content); err != nil {
		fmt.Fprintln(a.Stderr, "❌ JSON格式错误")
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			fmt.Fprintf(a.Stderr, "位置: 第 %d 个字节\n", syntax.Offset)
		}
		return env.Silent(env.ExitFailure)
	}
	found, err := config.Discover(a.LoadOptions(true))
	if err != nil {
		return oldFailure(a, err)
	}
	_, err = edit.Update(found.Path, edit.WriteOptions{Load: a.LoadOptions(false)}, func(d *edit.Draft) error { return d.Replace(data) })
	if err != nil {
		return oldFailure(a, err)
	}
	fmt.Fprintln(a.Stdout, "✅ 配置文件设置成功")
	fmt.Fprintf(a.Stdout, "路径: %s\n", found.Path)
	return nil
}

// oldFailure prints the problem with a config file in the format that scripts
// expect: always in Chinese, as the old flags did.
func oldFailure(a *env.Env, err error) error {
	var load *problem.LoadError
	switch {
	case errors.As(err, &load) && load.Has("AIO2001"):
		fmt.Fprintln(a.Stderr, "❌ 配置文件未找到")
		for _, p := range load.Problems {
			fmt.Fprintln(a.Stderr, p.In(i18n.Chinese))
		}
	case errors.Is(err, os.ErrNotExist):
		fmt.Fprintln(a.Stderr, "❌ 配置文件未找到")
		fmt.Fprintf(a.Stderr, "路径: %s\n", a.ConfigPath)
	case errors.As(err, &load):
		fmt.Fprintln(a.Stderr, "❌ 配置文件验证失败")
		n := 0
		for _, p := range load.Problems {
			if p.Severity != problem.SeverityError {
				continue
			}
			n++
			fmt.Fprintf(a.Stderr, "%d. %s: %s\n", n, cmp.Or(p.Path, p.Place()), p.MessageZH)
		}
	default:
		return err
	}
	return env.Silent(env.ExitFailure)
}
