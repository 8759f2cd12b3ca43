package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"syscall"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
)

// ServeFlags are the flags of http and stdio.
type ServeFlags struct {
	Host, Schema, Compat string
	Port                 int
	Watch                bool
	NoUI                 bool
	NoSelfConfig         bool
	Locked               bool // start only what mcp.lock has
	AnyOrigin            bool
	NoCORS               bool
	CORSOrigin           string
	Open                 bool   // open the console in the browser
	Show                 bool   // print its address, with a one-time code
	Endpoint             string // endpoint shown in the welcome; /mcp when empty
	Attempts             int    // ports to try, one after the other
	Log                  LogFlags
	Private              Private
}

// ServeHTTP runs the gateway until a signal ends it.
func ServeHTTP(ctx context.Context, a *env.Env, f ServeFlags) error {
	a.Stdout = env.Stream(a.Stdout) // a full disk for its log does not end a gateway
	from := takeMoved()
	cfg, err := a.LoadForServe()
	if err != nil {
		return err
	}
	f.apply(cfg)
	demo := a.WantsDemo() && env.AddDemo(cfg)
	log, level, closeLog, err := f.Log.Open(a, cfg)
	if err != nil {
		return err
	}
	defer closeLog()
	warn(a, log, cfg)
	life := instance.NewLifetime(ctx)
	defer life.Stop()
	a.Deployed = cfg.Cluster.Enabled() && !cfg.Cluster.Shares()
	if !f.Log.Silent {
		sayOther(life.Soft, a, cfg.Path)
	}
	bound, err := f.bind(life.Soft, a, cfg, log)
	if err != nil {
		return err
	}
	in, err := instance.New(life.Hard, instance.Options{Config: cfg, Log: log, Level: level, Name: a.Personality.Name, SelfConfig: !f.NoSelfConfig, Count: true, Load: a.LoadOptions(false)})
	if err != nil {
		bound.Close()
		return err
	}
	a.Share = in.Shared.Share
	reload := NewReloader(in, a, f)
	again := make(chan struct{}, 1)
	in.Restart = func() error { return requestRestart(again) }
	fr, err := Serve(life.Soft, in, a, bound, f)
	if err != nil {
		in.Close(life.Hard)
		return err
	}
	fr.lead(life.Soft, from)
	reload.start(life)
	if err := notifyReady(); err != nil {
		log.Warn("systemd was not told that the gateway is ready", "err", err)
	}
	welcome(life.Soft, a, in, f, demo)
	if f.Show {
		fmt.Fprintln(a.Stdout, consoleURL(in, fr.console))
	}
	if f.Open {
		env.OpenConsole(a, consoleURL(in, fr.console))
	}
	restart := false
	select {
	case <-life.Soft.Done():
	case <-a.Stop:
	case <-again:
		restart = true
	case <-fr.console.Visits.Abandoned(f.Private.Linger):
	case err = <-fr.failed:
	}
	life.Finish()
	reload.stop()
	fr.Drain(life.Hard)
	in.Close(life.Hard)
	if restart {
		return startAgain(fr.listener.Addr().String())
	}
	return err
}

// requestRestart tells ServeHTTP to start the gateway again.
func requestRestart(again chan<- struct{}) error {
	if !restarts {
		return i18n.Errorf("on this system the gateway cannot start itself again: end it and start it again", "此系统上网关无法自行重启：请结束后再启动")
	}
	select {
	case again <- struct{}{}:
	default: // it is asked already
	}
	return nil
}

// bind opens the address. If several ports may be tried, it takes the first
// free one.
func (f *ServeFlags) bind(ctx context.Context, a *env.Env, cfg *config.Config, log *slog.Logger) (*Bound, error) {
	host, port := f.address(cfg, a.Personality.Port)
	for try := 0; ; try++ {
		bound, err := Bind(ctx, cfg, host, port+try, log)
		if err == nil {
			if try > 0 {
				fmt.Fprintf(a.Stderr, a.T("Port %d is occupied, using port %d\n", "端口 %d 已被占用，改用端口 %d\n"), port, port+try)
			}
			return bound, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || try+1 >= f.Attempts || port+try >= 65535 {
			return nil, ListenError(a, err, host, port)
		}
	}
}

// apply overrides the settings of the file with the flags.
func (f *ServeFlags) apply(cfg *config.Config) {
	if f.Compat != "" {
		cfg.Compat = f.Compat
	}
	cfg.Locked = cfg.Locked || f.Locked
	if f.AnyOrigin {
		cfg.Server.CORS.AllowAnyOrigin = true
	}
	if f.NoCORS {
		cfg.Server.CORS.Enabled = false
	}
	f.Private.apply(cfg)
	if f.CORSOrigin != "" && f.CORSOrigin != "*" {
		cfg.Server.CORS.Origins = append(slices.Clip(cfg.Server.CORS.Origins), f.CORSOrigin)
	}
}

// address returns the host and port to listen on: those of the flags, else
// those of the file, else the default of the personality.
func (f *ServeFlags) address(cfg *config.Config, port int) (string, int) {
	host := cfg.Server.Host
	if f.Host != "" {
		host = config.BareHost(f.Host)
	}
	if cfg.Server.PortSet {
		port = cfg.Server.Port
	}
	if f.Port >= 0 {
		port = f.Port
	}
	return host, port
}

// ListenError adds the process that uses the port to the error, if that is
// known.
func ListenError(a *env.Env, err error, host string, port int) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	return inUse(a, i18n.Errorf("address %s is in use", "地址 %s 已被占用", address), a.T("stop the other program, or use another --port", "停止占用端口的程序，或使用其他 --port"))
}

// inUse returns the error for a port that another program has.
func inUse(a *env.Env, err error, hint string) error {
	return &env.ExitError{Code: env.ExitFailure, ID: env.CodeInUse, Plain: a.Personality.Plain, Hint: hint, Err: err}
}
