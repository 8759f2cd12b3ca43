package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
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
	noCORS               bool
	corsOrigin           string
	open                 bool   // open the console in the browser
	show                 bool   // print its address, with a one-time code
	endpoint             string // what the welcome names; /mcp when empty
	attempts             int    // ports to try, one after the other
	log                  logFlags
}

func httpCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:     "http",
		Aliases: []string{"serve", "sse"},
		Short:   a.t("serve over HTTP, with the console", "以 HTTP 提供服务，带控制台"),
		Args:    noArgs(a),
		Example: "  mcp-all-in-one http\n  mcp-all-in-one http --port 8080 --watch\n  mcp-all-in-one http -h 127.0.0.1 -p 3095 -c ~/mcp.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !cmd.Flags().Changed("port"):
				f.port = -1
			case f.port < 0 || f.port > 65535:
				return fail(exitUsage, codePort, "--port 3095", "%s", a.t(fmt.Sprintf("%d is not a port", f.port), fmt.Sprintf("%d 不是端口", f.port)))
			}
			cors, err := cmd.Flags().GetBool("cors")
			f.noCORS = err == nil && !cors
			return serveHTTP(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	// -h was the host here before it was help anywhere; see bareHelp.
	flags.StringVarP(&f.host, "host", "h", "", a.t("`ADDRESS` to listen on (127.0.0.1); -h alone is help", "监听地址 `ADDRESS`（127.0.0.1）；单独的 -h 显示帮助"))
	flags.Bool("help", false, "")
	flags.IntVarP(&f.port, "port", "p", a.personality.port, a.t("`PORT` to listen on; 0 takes a free one (3095)", "监听端口 `PORT`；0 为任意空闲端口（3095）"))
	flags.BoolVar(&f.open, "open", false, a.t("open the console in the browser", "在浏览器中打开控制台"))
	flags.Bool("cors", true, a.t("answer web pages of the configured origins", "响应已配置来源的网页"))
	flags.StringVar(&f.corsOrigin, "cors-origin", "", a.t("one more allowed `ORIGIN` of web pages", "额外允许的网页来源 `ORIGIN`"))
	flags.BoolVar(&f.watch, "watch", false, a.t("apply changes of the config file", "配置文件变化时自动生效"))
	flags.BoolVar(&f.noUI, "no-ui", false, a.t("leave the console out", "不提供控制台"))
	flags.BoolVar(&f.noSelfConfig, "no-self-config", false, a.t("hide the tools that change the configuration", "隐藏修改配置的工具"))
	flags.BoolVar(&f.anyOrigin, "allow-any-origin", false, a.t("let web pages of any origin in", "允许任意来源的网页"))
	flags.StringVar(&f.compat, "compat", "", a.t("`DIALECT`: auto, seed or spec", "方言 `DIALECT`：auto、seed 或 spec"))
	addLogFlags(&f.log, a, flags)
	return cmd
}

// bareHelp makes help of a -h without a value: an address is what -h takes
// here, and help is what it is everywhere else.
func bareHelp(args []string, command int) []string {
	if command < 0 || !slices.Contains([]string{"http", "serve", "sse"}, args[command]) {
		return args
	}
	for i := command + 1; i < len(args) && args[i] != "--"; i++ {
		if args[i] == "-h" && (i+1 == len(args) || strings.HasPrefix(args[i+1], "-")) {
			args = slices.Clone(args)
			args[i] = "--help"
		}
	}
	return args
}

// serveHTTP runs the gateway until a signal ends it.
func serveHTTP(ctx context.Context, a *app, f serveFlags) error {
	cfg, err := a.loadForServe()
	if err != nil {
		return err
	}
	f.apply(cfg)
	demo := a.wantsDemo() && addDemo(cfg)
	log, level, closeLog, err := f.log.open(a, cfg)
	if err != nil {
		return err
	}
	defer closeLog()
	warn(a, log, cfg)
	life := newLifetime(ctx)
	defer life.stop()
	in, err := newInstance(life.hard, instanceOptions{cfg: cfg, log: log, level: level, name: a.personality.name, selfConfig: !f.noSelfConfig, load: a.loadOptions(false)})
	if err != nil {
		return err
	}
	if !f.log.silent {
		sayOther(life.soft, a, cfg.Path)
	}
	reload := newReloader(in, a, f)
	host, port := f.address(cfg, a.personality.port)
	fr, err := listen(life.soft, a, in, host, port, f)
	if err != nil {
		in.close(life.hard)
		return err
	}
	reload.start(life)
	welcome(life.soft, a, in, f, demo)
	if f.show {
		fmt.Fprintln(a.Stdout, consoleURL(in, fr.console))
	}
	if f.open {
		openConsole(a, consoleURL(in, fr.console))
	}
	select {
	case <-life.soft.Done():
	case err = <-fr.failed:
	}
	life.finish()
	reload.stop()
	fr.drain(life.hard)
	in.close(life.hard)
	return err
}

// listen opens the address; where several ports may be tried, the first free
// one.
func listen(ctx context.Context, a *app, in *instance, host string, port int, f serveFlags) (*front, error) {
	for try := 0; ; try++ {
		fr, err := listenOn(ctx, in, a, host, port+try, f)
		if err == nil {
			if try > 0 {
				fmt.Fprintf(a.Stderr, "Port %d is occupied, using port %d\n", port, port+try)
			}
			return fr, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || try+1 >= f.attempts || port+try >= 65535 {
			return nil, listenError(a, err, host, port)
		}
	}
}

// apply lets the flags win over the file.
func (f *serveFlags) apply(cfg *config.Config) {
	if f.compat != "" {
		cfg.Compat = f.compat
	}
	if f.anyOrigin {
		cfg.Server.CORS.AllowAnyOrigin = true
	}
	if f.noCORS {
		cfg.Server.CORS.Enabled = false
	}
	if f.corsOrigin != "" && f.corsOrigin != "*" {
		cfg.Server.CORS.Origins = append(slices.Clip(cfg.Server.CORS.Origins), f.corsOrigin)
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

// listenError says who holds the port, as far as that can be known.
func listenError(a *app, err error, host string, port int) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	return &exitError{
		code: exitFailure, id: codeInUse, plain: a.personality.plain,
		hint: a.t("stop the other program, or use another --port", "停止占用端口的程序，或使用其他 --port"),
		err:  errors.New(a.t("address "+address+" is in use", "地址 "+address+" 已被占用")),
	}
}
