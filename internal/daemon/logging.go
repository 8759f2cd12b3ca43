package daemon

import (
	"fmt"
	"io"
	"log/slog"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/logfile"
)

// LogFlags are the command line flags of the log.
type LogFlags struct {
	Level  string
	Silent bool
}

// Open opens the log: standard error, and the file if one is configured. It
// never writes to standard output: in stdio mode that carries the protocol.
func (f *LogFlags) Open(a *env.Env, cfg *config.Config) (*slog.Logger, *slog.LevelVar, func(), error) {
	level := new(slog.LevelVar)
	name := cfg.Logging.Level
	if v, ok := a.Getenv("MCP_LOG_LEVEL"); ok && v != "" {
		name = v
	}
	if f.Level != "" {
		name = f.Level
	}
	l, ok := slogLevels[name]
	if !ok {
		return nil, nil, nil, env.Fail(env.ExitUsage, env.CodeLogLevel, "--log-level error|warn|info|debug", "%s %q", a.T("unknown log level", "未知的日志级别"), name)
	}
	level.Set(l)
	if f.Silent {
		return slog.New(slog.DiscardHandler), level, func() {}, nil
	}
	var out []io.Writer
	closeLog := func() {}
	if cfg.Logging.Console {
		out = append(out, a.Stderr)
	}
	if cfg.Logging.File != "" {
		file := logfile.New(cfg.Logging.File, cfg.Logging.MaxSize, cfg.Logging.MaxFiles)
		// The gateway runs even if the log file cannot be written.
		if err := file.Open(); err != nil {
			fmt.Fprintf(a.Stderr, "%s: %s\n", a.T("log file", "日志文件"), a.Lang.Of(err))
		}
		out = append(out, file)
		closeLog = func() { file.Close() }
	}
	options := &slog.HandlerOptions{Level: level}
	writer := io.MultiWriter(out...)
	if cfg.Logging.Format == "json" {
		return slog.New(slog.NewJSONHandler(writer, options)), level, closeLog, nil
	}
	return slog.New(slog.NewTextHandler(writer, options)), level, closeLog, nil
}

var slogLevels = map[string]slog.Level{
	"": slog.LevelInfo, "debug": slog.LevelDebug, "info": slog.LevelInfo,
	"warn": slog.LevelWarn, "warning": slog.LevelWarn, "error": slog.LevelError,
}

// warn logs the problems of the configuration, except those of its address: http
// ends with them, unless a flag names another address, and stdio does not listen.
func warn(a *env.Env, log *slog.Logger, cfg *config.Config) {
	for _, p := range cfg.Problems {
		if p.Code != problem.Exposed && p.Code != problem.Plain {
			log.Warn(a.ProblemText(p))
		}
	}
}
