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

// ServeFlags are those of http and stdio.
type ServeFlags struct {
	Host, Schema, Compat string
	Port                 int
	Watch                bool
	NoUI                 bool
	NoSelfConfig         bool
	AnyOrigin            bool
	NoCORS               bool
	CORSOrigin           string
	Open                 bool   // open the console in the browser
	Show                 bool   // print its address, with a one-time code
	Endpoint             string // what the welcome names; /mcp when empty
	Attempts             int    // ports to try, one after the other
	Log                  LogFlags
}

func HTTPCommand(a *Env) *cobra.Command {
	var f ServeFlags
	cmd := &cobra.Command{
		Use:     "http",
		Aliases: []string{"serve", "sse"},
		Short:   a.T("serve over HTTP, with the console", "以 HTTP 提供服务，带控制台"),
		Args:    NoArgs(a),
		Example: "  mcp-all-in-one http\n  mcp-all-in-one http --port 8080 --watch\n  mcp-all-in-one http -h 127.0.0.1 -p 3095 -c ~/mcp.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !cmd.Flags().Changed("port"):
				f.Port = -1
			case f.Port < 0 || f.Port > 65535:
				return Fail(ExitUsage, CodePort, "--port 3095", "%s", a.T(fmt.Sprintf("%d is not a port", f.Port), fmt.Sprintf("%d 不是端口", f.Port)))
			}
			cors, err := cmd.Flags().GetBool("cors")
			f.NoCORS = err == nil && !cors
			return ServeHTTP(cmd.Context(), a, f)
		},
	}
	flags := cmd.Flags()
	// -h was the host here before it was help anywhere; see BareHelp.
	flags.StringVarP(&f.Host, "host", "h", "", a.T("`ADDRESS` to listen on (127.0.0.1); -h alone is help", "监听地址 `ADDRESS`（127.0.0.1）；单独的 -h 显示帮助"))
	flags.Bool("help", false, "")
	flags.IntVarP(&f.Port, "port", "p", a.Personality.Port, a.T("`PORT` to listen on; 0 takes a free one (3095)", "监听端口 `PORT`；0 为任意空闲端口（3095）"))
	flags.BoolVar(&f.Open, "open", false, a.T("open the console in the browser", "在浏览器中打开控制台"))
	flags.Bool("cors", true, a.T("answer web pages of the configured origins", "响应已配置来源的网页"))
	flags.StringVar(&f.CORSOrigin, "cors-origin", "", a.T("one more allowed `ORIGIN` of web pages", "额外允许的网页来源 `ORIGIN`"))
	flags.BoolVar(&f.Watch, "watch", false, a.T("apply changes of the config file", "配置文件变化时自动生效"))
	flags.BoolVar(&f.NoUI, "no-ui", false, a.T("leave the console out", "不提供控制台"))
	flags.BoolVar(&f.NoSelfConfig, "no-self-config", false, a.T("hide the tools that change the configuration", "隐藏修改配置的工具"))
	flags.BoolVar(&f.AnyOrigin, "allow-any-origin", false, a.T("let web pages of any origin in", "允许任意来源的网页"))
	flags.StringVar(&f.Compat, "compat", "", a.T("`DIALECT`: auto, seed or spec", "方言 `DIALECT`：auto、seed 或 spec"))
	AddLogFlags(&f.Log, a, flags)
	return cmd
}

// BareHelp makes help of a -h without a value: an address is what -h takes
// here, and help is what it is everywhere else.
func BareHelp(args []string, command int) []string {
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

// ServeHTTP runs the gateway until a signal ends it.
func ServeHTTP(ctx context.Context, a *Env, f ServeFlags) error {
	cfg, err := a.LoadForServe()
	if err != nil {
		return err
	}
	f.apply(cfg)
	demo := a.WantsDemo() && AddDemo(cfg)
	log, level, closeLog, err := f.Log.Open(a, cfg)
	if err != nil {
		return err
	}
	defer closeLog()
	warn(a, log, cfg)
	life := NewLifetime(ctx)
	defer life.Stop()
	in, err := New(life.Hard, Options{Config: cfg, Log: log, Level: level, Name: a.Personality.Name, SelfConfig: !f.NoSelfConfig, Load: a.LoadOptions(false)})
	if err != nil {
		return err
	}
	if !f.Log.Silent {
		sayOther(life.Soft, a, cfg.Path)
	}
	reload := NewReloader(in, a, f)
	host, port := f.address(cfg, a.Personality.Port)
	fr, err := listen(life.Soft, a, in, host, port, f)
	if err != nil {
		in.Close(life.Hard)
		return err
	}
	reload.start(life)
	welcome(life.Soft, a, in, f, demo)
	if f.Show {
		fmt.Fprintln(a.Stdout, consoleURL(in, fr.console))
	}
	if f.Open {
		OpenConsole(a, consoleURL(in, fr.console))
	}
	select {
	case <-life.Soft.Done():
	case err = <-fr.failed:
	}
	life.Finish()
	reload.stop()
	fr.Drain(life.Hard)
	in.Close(life.Hard)
	return err
}

// listen opens the address; where several ports may be tried, the first free
// one.
func listen(ctx context.Context, a *Env, in *Instance, host string, port int, f ServeFlags) (*front, error) {
	for try := 0; ; try++ {
		fr, err := ListenOn(ctx, in, a, host, port+try, f)
		if err == nil {
			if try > 0 {
				fmt.Fprintf(a.Stderr, "Port %d is occupied, using port %d\n", port, port+try)
			}
			return fr, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || try+1 >= f.Attempts || port+try >= 65535 {
			return nil, ListenError(a, err, host, port)
		}
	}
}

// apply lets the flags win over the file.
func (f *ServeFlags) apply(cfg *config.Config) {
	if f.Compat != "" {
		cfg.Compat = f.Compat
	}
	if f.AnyOrigin {
		cfg.Server.CORS.AllowAnyOrigin = true
	}
	if f.NoCORS {
		cfg.Server.CORS.Enabled = false
	}
	if f.CORSOrigin != "" && f.CORSOrigin != "*" {
		cfg.Server.CORS.Origins = append(slices.Clip(cfg.Server.CORS.Origins), f.CORSOrigin)
	}
}

// address is where to listen: the flags, else the file, else the
// personality's own.
func (f *ServeFlags) address(cfg *config.Config, port int) (string, int) {
	host := cfg.Server.Host
	if f.Host != "" {
		host = f.Host
	}
	if cfg.Server.PortSet {
		port = cfg.Server.Port
	}
	if f.Port >= 0 {
		port = f.Port
	}
	return host, port
}

// ListenError says who holds the port, as far as that can be known.
func ListenError(a *Env, err error, host string, port int) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	return &ExitError{
		Code: ExitFailure, ID: CodeInUse, Plain: a.Personality.Plain,
		Hint: a.T("stop the other program, or use another --port", "停止占用端口的程序，或使用其他 --port"),
		Err:  errors.New(a.T("address "+address+" is in use", "地址 "+address+" 已被占用")),
	}
}
