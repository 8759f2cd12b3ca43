package service

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/logfile"
)

// userOwnProcess marks a template: for each user who logs in, Windows creates a
// service from it that runs with that user's rights and files.
const userOwnProcess = 0x50

const logSize, logFiles = 10 << 20, 5

// Windows manages a service of the Windows service manager.
type Windows struct{ log string }

// New returns the service manager of this system.
func New(home, state string) Manager { return &Windows{log: filepath.Join(state, "service.log")} }

// Describe returns "": the service manager uses no file.
func (w *Windows) Describe(Spec) string { return "" }

// connect connects to the service manager. Changes need an administrator.
func connect() (*mgr.Mgr, error) {
	m, err := mgr.Connect()
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return nil, i18n.Errorf("the service manager wants an administrator: open a terminal with Run as administrator: %w", "服务管理器需要管理员权限：请以管理员身份打开终端：%w", err)
	}
	return m, err
}

// Install creates the service. It runs from the next login on.
func (w *Windows) Install(_ context.Context, spec Spec) error {
	m, err := connect()
	if err != nil {
		return err
	}
	defer m.Disconnect()
	if old, err := m.OpenService(Name); err == nil {
		err = old.Delete()
		old.Close()
		if err != nil {
			return err
		}
	}
	s, err := m.CreateService(Name, spec.Program, mgr.Config{
		ServiceType: userOwnProcess, StartType: mgr.StartAutomatic, ErrorControl: mgr.ErrorNormal,
		DisplayName: Name, Description: "Many MCP servers as one. Written by: " + mark,
	}, append([]string{"service", "run"}, spec.Args...)...)
	if err != nil {
		return i18n.Errorf("making the service: %w", "创建服务失败：%w", err)
	}
	defer s.Close()
	again := mgr.RecoveryAction{Type: mgr.ServiceRestart, Delay: 2 * time.Second}
	if err := s.SetRecoveryActions([]mgr.RecoveryAction{again, again, again}, 3600); err != nil {
		return err
	}
	return s.SetRecoveryActionsOnNonCrashFailures(true)
}

// services returns the names of the template and of the services made from it.
func services(m *mgr.Mgr) ([]string, error) {
	all, err := m.ListServices()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(n string) bool { return n != Name && !strings.HasPrefix(n, Name+"_") }), nil
}

// Uninstall stops the services and removes them.
func (w *Windows) Uninstall(ctx context.Context) error {
	m, err := connect()
	if err != nil {
		return err
	}
	defer m.Disconnect()
	names, err := services(m)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return ErrNotInstalled
	}
	for _, name := range names {
		if err := stopAndDelete(ctx, m, name); err != nil {
			return i18n.Errorf("removing the service %s: %w", "删除服务 %s 失败：%w", name, err)
		}
	}
	return nil
}

func stopAndDelete(ctx context.Context, m *mgr.Mgr, name string) error {
	s, err := m.OpenService(name)
	if err != nil {
		return err
	}
	defer s.Close()
	if st, err := s.Query(); err == nil && st.State != svc.Stopped {
		if err := stopped(ctx, s); err != nil {
			return err
		}
	}
	return s.Delete()
}

// stopped stops a service and waits until it has ended.
func stopped(ctx context.Context, s *mgr.Service) error {
	st, err := s.Control(svc.Stop)
	if err != nil && !errors.Is(err, windows.ERROR_SERVICE_NOT_ACTIVE) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopSeconds*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for err == nil && st.State != svc.Stopped {
		select {
		case <-tick.C:
			st, err = s.Query()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Status returns the state from the service manager. If there are services of
// several users, it prefers one that runs.
func (w *Windows) Status(context.Context) (Status, error) {
	st := Status{Logs: w.log, State: "not installed"}
	// The package mgr asks for all rights, which only an administrator has.
	h, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_ENUMERATE_SERVICE)
	if err != nil {
		return st, err
	}
	m := &mgr.Mgr{Handle: h}
	defer m.Disconnect()
	names, err := services(m)
	if err != nil {
		return st, err
	}
	for _, name := range names {
		text, err := windows.UTF16PtrFromString(name)
		if err != nil {
			return st, err
		}
		h, err := windows.OpenService(m.Handle, text, windows.SERVICE_QUERY_STATUS)
		if err != nil {
			return st, err
		}
		s := &mgr.Service{Name: name, Handle: h}
		q, err := s.Query()
		s.Close()
		if err != nil {
			return st, err
		}
		st.Installed = true
		if !st.Running {
			st.State, st.Running, st.PID = stateWords[q.State], q.State == svc.Running, int(q.ProcessId)
		}
	}
	return st, nil
}

var stateWords = map[svc.State]string{svc.Stopped: "stopped", svc.StartPending: "starting", svc.StopPending: "stopping", svc.Running: "running",
	svc.ContinuePending: "continuing", svc.PausePending: "pausing", svc.Paused: "paused"}

// Logs prints the end of the log file.
func (w *Windows) Logs(ctx context.Context, out io.Writer, lines int, follow bool) error {
	return tail(ctx, out, w.log, lines, follow)
}

// Run runs serve for the service manager. When the service manager asks for a
// stop, the channel is closed and serve returns. Output of serve to log goes to
// the log file.
func Run(state string, serve func(stop <-chan struct{}, log io.Writer) error) error {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	log := logfile.New(filepath.Join(state, "service.log"), logSize, logFiles)
	if err := log.Open(); err != nil {
		return err
	}
	defer log.Close()
	h := &handler{serve: func(stop <-chan struct{}) error { return serve(stop, log) }}
	if err := svc.Run(Name, h); err != nil {
		return i18n.Errorf("this is for the service manager, which starts it: %w", "此命令由服务管理器启动：%w", err)
	}
	return h.err
}

type handler struct {
	serve func(stop <-chan struct{}) error
	err   error
}

// Execute is called by the service manager.
func (h *handler) Execute(_ []string, asks <-chan svc.ChangeRequest, says chan<- svc.Status) (bool, uint32) {
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- h.serve(stop) }()
	says <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	stopping := false
	for {
		select {
		case h.err = <-done:
			if h.err != nil && !stopping {
				return true, 1 // reported as a failure, so that the service is restarted
			}
			return false, 0
		case ask := <-asks:
			switch ask.Cmd {
			case svc.Interrogate:
				says <- ask.CurrentStatus
			case svc.Stop, svc.Shutdown:
				if !stopping {
					stopping = true
					says <- svc.Status{State: svc.StopPending, WaitHint: stopSeconds * 1000}
					close(stop)
				}
			}
		}
	}
}
