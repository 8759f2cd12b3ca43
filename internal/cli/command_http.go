package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
)

// serveFlags are those of http and stdio.
type serveFlags struct {
	host, schema, compat string
	port                 int
	watch                bool
	noUI                 bool
	noSelfConfig         bool
	anyOrigin            bool
	log                  logFlags
}

func (a *app) httpCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:     "http",
		Aliases: []string{"serve", "sse"},
		Short:   a.t("serve over HTTP, with the console", "以 HTTP 提供服务，带控制台"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("port") {
				f.port = -1
			}
			return a.serveHTTP(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	// -h was the host here before it was help anywhere.
	flags.StringVarP(&f.host, "host", "h", "", a.t("address to listen on (127.0.0.1)", "监听地址（127.0.0.1）"))
	flags.Bool("help", false, a.t("help for http", "显示帮助"))
	flags.IntVarP(&f.port, "port", "p", a.personality.port, a.t("port to listen on; 0 takes a free one", "监听端口；0 为任意空闲端口"))
	flags.BoolVar(&f.watch, "watch", false, a.t("apply changes of the config file", "配置文件变化时自动生效"))
	flags.BoolVar(&f.noUI, "no-ui", false, a.t("leave the console out", "不提供控制台"))
	flags.BoolVar(&f.noSelfConfig, "no-self-config", false, a.t("hide the tools that change the configuration", "隐藏修改配置的工具"))
	flags.BoolVar(&f.anyOrigin, "allow-any-origin", false, a.t("let web pages of any origin in", "允许任意来源的网页"))
	flags.StringVar(&f.compat, "compat", "", a.t("dialect: auto, seed or spec", "方言：auto、seed 或 spec"))
	f.log.add(a, flags)
	return cmd
}

// serveHTTP runs the gateway until a signal ends it.
func (a *app) serveHTTP(ctx context.Context, f serveFlags) error {
	cfg, err := a.load(true)
	if err != nil {
		return err
	}
	f.apply(cfg)
	demo := addDemo(cfg)
	log, level, closeLog, err := f.log.open(a, cfg, false)
	if err != nil {
		return err
	}
	defer closeLog()
	a.warn(log, cfg)
	life := newLifetime(ctx)
	defer life.stop()
	in, err := newInstance(life.hard, instanceOptions{cfg: cfg, log: log, level: level, name: a.personality.name, selfConfig: !f.noSelfConfig})
	if err != nil {
		return err
	}
	host, port := f.address(cfg, a.personality.port)
	fr, err := in.listen(life.soft, host, port, f)
	if err != nil {
		in.close(life.hard)
		return a.listenError(err, host, port)
	}
	reload := in.reloader(a, f)
	reload.start(life)
	a.welcome(in, cfg, demo)
	select {
	case <-life.soft.Done():
	case err = <-fr.failed:
	}
	reload.stop()
	fr.drain(life.hard)
	in.close(life.hard)
	return err
}

// apply lets the flags win over the file.
func (f *serveFlags) apply(cfg *config.Config) {
	if f.compat != "" {
		cfg.Compat = f.compat
	}
	if f.anyOrigin {
		cfg.Server.CORS.AllowAnyOrigin = true
	}
}

// address is where to listen: the flags, else the file, else the
// personality's own.
func (f *serveFlags) address(cfg *config.Config, port int) (string, int) {
	host := cfg.Server.Host
	if f.host != "" {
		host = f.host
	}
	if cfg.Server.PortSet {
		port = cfg.Server.Port
	}
	if f.port >= 0 {
		port = f.port
	}
	return host, port
}

// addDemo gives a gateway without any server something to show.
func addDemo(cfg *config.Config) bool {
	for _, s := range cfg.Schemas {
		if len(s.Servers) > 0 {
			return false
		}
	}
	exe, err := os.Executable()
	if err != nil {
		return false
	}
	server := config.NewServer("demo")
	server.Schema, server.Type, server.Command, server.Args = config.DefaultSchema, config.TypeStdio, exe, []string{"demo"}
	schema := cfg.Schema(config.DefaultSchema)
	if schema == nil {
		schema = config.NewSchema(config.DefaultSchema)
		cfg.Schemas = append(cfg.Schemas, schema)
	}
	schema.Servers = append(schema.Servers, server)
	return true
}

// welcome tells a person where everything is.
func (a *app) welcome(in *instance, cfg *config.Config, demo bool) {
	fmt.Fprintf(a.Stdout, "%s %s\n", a.t("endpoint", "端点  "), in.url+"/mcp")
	if in.console {
		fmt.Fprintf(a.Stdout, "%s %s\n", a.t("console ", "控制台"), in.url+"/ui/")
	}
	fmt.Fprintf(a.Stdout, "%s %s\n", a.t("config  ", "配置  "), cfg.Path)
	if demo {
		fmt.Fprintln(a.Stdout, a.t("no server is configured, so a demo server is shown; add one with: mcp-all-in-one add NAME -- COMMAND",
			"尚未配置服务，已启用演示服务；添加服务：mcp-all-in-one add NAME -- COMMAND"))
	}
}

// listenError says who holds the port, as far as that can be known.
func (a *app) listenError(err error, host string, port int) error {
	var op *net.OpError
	if errors.As(err, &op) && errors.Is(err, syscall.EADDRINUSE) {
		return fail(exitFailure, "AIO4001", a.t("stop the other program, or use --port 0 for a free port", "停止占用端口的程序，或用 --port 0 使用空闲端口"),
			"%s", a.t("address "+net.JoinHostPort(host, strconv.Itoa(port))+" is in use", "地址 "+net.JoinHostPort(host, strconv.Itoa(port))+" 已被占用"))
	}
	return err
}
