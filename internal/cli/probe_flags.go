package cli

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
)

// probeFlags say which server is tested, and which client plays against it.
type probeFlags struct {
	outputFlags
	protocol, transport, schema string
	headers, env, caps, roots   []string
	cwd, client                 string
	answer                      string
	level                       string
	idle, limit                 time.Duration
	verbose                     int
	trace                       string
	direct, noHistory           bool
	// shared says that the command does not mind a gateway in between.
	shared bool
}

func (f *probeFlags) add(a *app, flags *pflag.FlagSet) {
	flags.StringVar(&f.protocol, "protocol", "", a.t("`VERSION` to speak: auto, legacy, modern or a date", "协议版本 `VERSION`：auto、legacy、modern 或日期"))
	flags.StringVar(&f.transport, "transport", "", a.t("`HOW` a URL is reached: http or sse (found out)", "URL 的传输方式 `HOW`：http 或 sse（自动探测）"))
	flags.StringVar(&f.schema, "schema", "", a.t("`SCHEMA` of a configured server (default)", "已配置服务所在的 `SCHEMA`（default）"))
	flags.StringArrayVarP(&f.headers, "header", "H", nil, a.t("`'NAME: VALUE'` sent with every request", "每个请求附带的请求头 `'NAME: VALUE'`"))
	flags.StringArrayVarP(&f.env, "env", "e", nil, a.t("`NAME=VALUE` in the environment of a command", "命令的环境变量 `NAME=VALUE`"))
	flags.StringVar(&f.cwd, "cwd", "", a.t("`DIR` in which a command starts", "命令的工作目录 `DIR`"))
	flags.StringArrayVar(&f.caps, "cap", nil, a.t("`CAPABILITY` to offer: sampling, elicitation, roots, none, or JSON (all)", "提供的能力 `CAPABILITY`：sampling、elicitation、roots、none 或 JSON（全部）"))
	flags.StringArrayVar(&f.roots, "root", nil, a.t("`DIR` or URI offered as a root", "作为根提供的目录或 URI（`DIR`）"))
	flags.StringVar(&f.client, "client", "", a.t("`NAME[/VERSION]` to call ourselves", "客户端自称 `NAME[/VERSION]`"))
	flags.StringVar(&f.answer, "answer", "", a.t("`HOW` questions are answered: ask, fail, decline, JSON or @FILE (ask on a terminal, else fail)", "如何回答服务的提问 `HOW`：ask、fail、decline、JSON 或 @FILE（终端上为 ask，否则 fail）"))
	flags.StringVar(&f.level, "log", "", a.t("`LEVEL` from which the server's log is shown", "显示服务日志的最低级别 `LEVEL`"))
	flags.DurationVar(&f.idle, "timeout", 60*time.Second, a.t("`TIME` a call may be silent; progress renews it (60s)", "调用最长静默时间 `TIME`，进度会重新计时（60s）"))
	flags.DurationVar(&f.limit, "max-time", 60*time.Minute, a.t("`TIME` a call may take at all (60m)", "调用的总时限 `TIME`（60m）"))
	flags.CountVarP(&f.verbose, "verbose", "v", a.t("show the messages; twice: the headers too", "显示消息；两次则包括请求头"))
	flags.StringVar(&f.trace, "trace", "", a.t("record the messages to `FILE`", "将消息记录到 `FILE`"))
	flags.BoolVar(&f.direct, "direct", false, a.t("do not use a gateway that is running", "不使用正在运行的网关"))
	flags.BoolVar(&f.noHistory, "no-history", false, a.t("do not keep what is sent in the history", "不记入历史"))
}

// header reads the headers of the command line.
func (f *probeFlags) header(a *app) (http.Header, []string, error) {
	header := make(http.Header)
	var secrets []string
	for _, line := range f.headers {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, nil, fail(exitUsage, codeUsage, "--header 'Authorization: Bearer …'", "%s%q", a.t("this is not a header: ", "这不是请求头："), line)
		}
		value = strings.TrimSpace(value)
		header.Add(strings.TrimSpace(name), value)
		secrets = append(secrets, value)
	}
	return header, secrets, nil
}

// environment reads the variables of the command line.
func (f *probeFlags) environment(a *app) (map[string]string, []string, error) {
	env := make(map[string]string)
	var secrets []string
	for _, pair := range f.env {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, nil, fail(exitUsage, codeUsage, "--env NAME=VALUE", "%s%q", a.t("this is not a variable: ", "这不是环境变量："), pair)
		}
		env[name] = value
		secrets = append(secrets, value)
	}
	return env, secrets, nil
}

// checkProtocol refuses what is no version before anything is started.
func (f *probeFlags) checkProtocol(a *app) error {
	if f.protocol == "" || probe.ValidProtocol(f.protocol) {
		return nil
	}
	return fail(exitUsage, codeUsage, "--protocol auto, legacy, modern, "+strings.Join(mcp.AllVersions(), ", "),
		"%s%q", a.t("this is not a protocol version: ", "这不是协议版本："), f.protocol)
}

// options are which client is played.
func (f *probeFlags) options(a *app) (probe.Options, error) {
	if err := f.checkProtocol(a); err != nil {
		return probe.Options{}, err
	}
	opt := probe.Options{Protocol: f.protocol, LogLevel: f.level, Handshake: min(f.idle, 30*time.Second)}
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
	if f.level != "" {
		level, ok := mcp.ParseLevel(f.level)
		if !ok {
			return opt, fail(exitUsage, codeUsage, strings.Join(mcp.Levels(), ", "), "%s %q", a.t("unknown log level", "未知的日志级别"), f.level)
		}
		opt.LogLevel = level
	}
	opt.Answer, err = f.answerer(a)
	return opt, err
}

func (f *probeFlags) offer(a *app) (*mcp.Offer, json.RawMessage, error) {
	if len(f.caps) == 0 {
		return nil, nil, nil
	}
	var offer mcp.Offer
	for _, list := range f.caps {
		if strings.HasPrefix(list, "{") {
			if !json.Valid([]byte(list)) {
				return nil, nil, fail(exitUsage, codeUsage, `--cap '{"sampling":{}}'`, "%s%s", a.t("this is not JSON: ", "这不是 JSON："), list)
			}
			return nil, json.RawMessage(list), nil
		}
		for name := range strings.SplitSeq(list, ",") {
			switch name {
			case "none":
			case "sampling":
				offer.Sampling, offer.SampleTools, offer.SampleContext = true, true, true
			case "elicitation":
				offer.Elicit, offer.ElicitURL = true, true
			case "roots":
				offer.Roots = true
			default:
				return nil, nil, fail(exitUsage, codeUsage, "sampling, elicitation, roots, none", "%s %q", a.t("unknown capability", "未知的能力"), name)
			}
		}
	}
	return &offer, nil, nil
}

// rootOf makes a root of a directory or a URI.
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

// answerer is who answers what the server asks.
func (f *probeFlags) answerer(a *app) (probe.Answerer, error) {
	switch f.answer {
	case "":
		if isTerminal(a.Stdin) && isTerminal(a.Stderr) {
			return &terminalAnswerer{app: a}, nil
		}
		return probe.Pending, nil
	case "ask":
		return &terminalAnswerer{app: a}, nil
	case "fail":
		return probe.Pending, nil
	case "decline":
		return probe.Decline, nil
	}
	data := []byte(f.answer)
	if name, ok := strings.CutPrefix(f.answer, "@"); ok {
		var err error
		if data, err = os.ReadFile(name); err != nil {
			return nil, fail(exitUsage, codeUsage, "", "%s: %v", a.t("reading the answers", "读取回答"), err)
		}
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, fail(exitUsage, codeUsage, `--answer '{"elicitation":{"name":"Ann"},"sampling":"Hello"}'`, "%s: %v", a.t("the answers are not ask, fail, decline or a JSON object", "回答不是 ask、fail、decline 或 JSON 对象"), err)
	}
	return &probe.Script{Values: values, Else: probe.Pending}, nil
}
