package target

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

// Flags select the server to test and configure the client.
type Flags struct {
	output.Options
	Protocol, transport, Schema string
	Headers, Env, caps, roots   []string
	cwd, client                 string
	answer                      string
	Level                       string
	idle, limit                 time.Duration
	verbose                     int
	Trace                       string
	Direct, noHistory           bool
	// Shared reports that the command works through a running gateway, too.
	Shared bool
}

func (f *Flags) add(a *env.Env, to *pflag.FlagSet) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.StringVar(&f.Protocol, "protocol", "", a.T("protocol `VERSION`: auto, legacy, modern or a date", "协议版本 `VERSION`：auto、legacy、modern 或日期"))
	flags.StringVar(&f.transport, "transport", "", a.T("`TRANSPORT` of a URL: http or sse (detected)", "URL 的传输方式 `TRANSPORT`：http 或 sse（自动探测）"))
	flags.StringVar(&f.Schema, "schema", "", a.T("schema `NAME` of a configured server (default)", "已配置服务器所在的 schema `NAME`（default）"))
	flags.StringArrayVarP(&f.Headers, "header", "H", nil, a.T("header `'NAME: VALUE'` of every request; may be repeated", "每个请求附带的请求头 `'NAME: VALUE'`，可重复"))
	flags.StringArrayVarP(&f.Env, "env", "e", nil, a.T("environment variable `NAME=VALUE` of a command; may be repeated", "命令的环境变量 `NAME=VALUE`，可重复"))
	flags.StringVar(&f.cwd, "cwd", "", a.T("working `DIR` of a command", "命令的工作目录 `DIR`"))
	flags.StringArrayVar(&f.caps, "cap", nil, a.T("client `CAPABILITY`: sampling, elicitation, roots, none, or JSON (all)", "客户端的能力 `CAPABILITY`：sampling、elicitation、roots、none 或 JSON（全部）"))
	flags.StringArrayVar(&f.roots, "root", nil, a.T("root `DIR` or URI; may be repeated", "作为根的目录 `DIR` 或 URI，可重复"))
	flags.StringVar(&f.client, "client", "", a.T("client name `NAME[/VERSION]` that the server is told", "告知服务器的客户端名称 `NAME[/VERSION]`"))
	flags.StringVar(&f.answer, "answer", "", a.T("`ANSWER` to questions of the server: ask, fail, decline, JSON or @FILE (ask on a terminal, else fail)", "对服务器提问的回答 `ANSWER`：ask、fail、decline、JSON 或 @FILE（终端上为 ask，否则 fail）"))
	flags.StringVar(&f.Level, "log", "", a.T("show log messages of the server from this `LEVEL` on", "显示服务器日志的最低级别 `LEVEL`"))
	flags.DurationVar(&f.idle, "timeout", 60*time.Second, a.T("end a call after this `TIME` without an answer or progress (60s)", "调用最长静默时间 `TIME`，进度会重新计时（60s）"))
	flags.DurationVar(&f.limit, "max-time", 60*time.Minute, a.T("end a call after this `TIME` in any case (60m)", "调用的总时限 `TIME`（60m）"))
	flags.CountVarP(&f.verbose, "verbose", "v", a.T("show the messages; -vv shows the headers too", "显示消息；-vv 还显示请求头"))
	flags.StringVar(&f.Trace, "trace", "", a.T("record the messages to `FILE`", "将消息记录到 `FILE`"))
	flags.BoolVar(&f.Direct, "direct", false, a.T("do not use the running gateway", "不使用正在运行的网关"))
	flags.BoolVar(&f.noHistory, "no-history", false, a.T("do not store the request in the history", "不记入历史"))
	command.AddConnectionFlags(to, flags)
}

// header parses the headers of the command line.
func (f *Flags) header(a *env.Env) (http.Header, []string, error) {
	header := make(http.Header)
	var secrets []string
	for _, line := range f.Headers {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, nil, env.Fail(env.ExitUsage, env.CodeUsage, "--header 'Authorization: Bearer …'", "%s%q", a.T("this is not a header: ", "这不是请求头："), line)
		}
		value = strings.TrimSpace(value)
		header.Add(strings.TrimSpace(name), value)
		secrets = append(secrets, value)
	}
	return header, secrets, nil
}

// Environment parses the variables of the command line.
func (f *Flags) Environment(a *env.Env) (map[string]string, []string, error) {
	variables := make(map[string]string)
	var secrets []string
	for _, pair := range f.Env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, nil, env.Fail(env.ExitUsage, env.CodeUsage, "--env NAME=VALUE", "%s%q", a.T("this is not a variable: ", "这不是环境变量："), pair)
		}
		variables[name] = value
		secrets = append(secrets, value)
	}
	return variables, secrets, nil
}

// checkProtocol refuses an unknown protocol version before anything is started.
func (f *Flags) checkProtocol(a *env.Env) error {
	if f.Protocol == "" || probe.ValidProtocol(f.Protocol) {
		return nil
	}
	return env.Fail(env.ExitUsage, env.CodeUsage, "--protocol auto, legacy, modern, "+strings.Join(mcp.AllVersions(), ", "),
		"%s%q", a.T("this is not a protocol version: ", "这不是协议版本："), f.Protocol)
}

// options returns the options of the client.
func (f *Flags) options(a *env.Env) (probe.Options, error) {
	if err := f.checkProtocol(a); err != nil {
		return probe.Options{}, err
	}
	opt := probe.Options{Protocol: f.Protocol, LogLevel: f.Level, Handshake: min(f.idle, 30*time.Second)}
	if f.client != "" {
		name, version, ok := strings.Cut(f.client, "/")
		if !ok {
			version = mcp.ProductVersion
		}
		opt.Info = mcp.Implementation{Name: name, Version: version}
	}
	for _, root := range f.roots {
		opt.Roots = append(opt.Roots, rootOf(root))
	}
	var err error
	if opt.Offer, opt.Capabilities, err = f.offer(a); err != nil {
		return opt, err
	}
	if f.Level != "" {
		level, ok := mcp.ParseLevel(f.Level)
		if !ok {
			return opt, env.Fail(env.ExitUsage, env.CodeUsage, strings.Join(mcp.Levels(), ", "), "%s %q", a.T("unknown log level", "未知的日志级别"), f.Level)
		}
		opt.LogLevel = level
	}
	opt.Answer, err = f.answerer(a)
	return opt, err
}

func (f *Flags) offer(a *env.Env) (*mcp.Offer, json.RawMessage, error) {
	if len(f.caps) == 0 {
		return nil, nil, nil
	}
	var offer mcp.Offer
	for _, list := range f.caps {
		if strings.HasPrefix(list, "{") {
			if !json.Valid([]byte(list)) {
				return nil, nil, env.Fail(env.ExitUsage, env.CodeUsage, `--cap '{"sampling":{}}'`, "%s%s", a.T("this is not JSON: ", "这不是 JSON："), list)
			}
			return nil, json.RawMessage(list), nil
		}
		for name := range strings.SplitSeq(list, ",") {
			if name != "none" && !offer.Add(name) {
				return nil, nil, env.Fail(env.ExitUsage, env.CodeUsage, "sampling, elicitation, roots, none", "%s %q", a.T("unknown capability", "未知的能力"), name)
			}
		}
	}
	return &offer, nil, nil
}

// rootOf returns a root for a directory or a URI.
func rootOf(text string) config.Root {
	if strings.Contains(text, "://") {
		return config.Root{URI: text}
	}
	path := text
	if abs, err := filepath.Abs(text); err == nil {
		path = abs
	}
	return config.Root{URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String(), Name: filepath.Base(path)}
}

// answerer returns what answers the server's questions.
func (f *Flags) answerer(a *env.Env) (probe.Answerer, error) {
	switch f.answer {
	case "":
		if env.IsTerminal(a.Stdin) && env.IsTerminal(a.Stderr) {
			return &terminalAnswerer{env: a}, nil
		}
		return probe.Pending, nil
	case "ask":
		return &terminalAnswerer{env: a}, nil
	case "fail":
		return probe.Pending, nil
	case "decline":
		return probe.Decline, nil
	}
	data := []byte(f.answer)
	if name, ok := strings.CutPrefix(f.answer, "@"); ok {
		var err error
		if data, err = os.ReadFile(name); err != nil {
			return nil, env.Fail(env.ExitUsage, env.CodeUsage, "", "%s: %v", a.T("reading the answers", "读取回答"), err)
		}
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, env.Fail(env.ExitUsage, env.CodeUsage, `--answer '{"elicitation":{"name":"Ann"},"sampling":"Hello"}'`, "%s", a.T("the answers are not ask, fail, decline or a JSON object", "回答不是 ask、fail、decline 或 JSON 对象"))
	}
	return &probe.Script{Values: values, Else: probe.Pending}, nil
}

// WantsSummary reports whether to print a summary beside the result.
func (f *Flags) WantsSummary(a *env.Env) bool { return f.verbose > 0 || env.IsTerminal(a.Stderr) }
