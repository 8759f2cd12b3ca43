package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

// A Remote is a running gateway, reached through its control socket.
type Remote struct {
	Info
	Socket string
	HTTP   *http.Client
	lang   i18n.Lang // language of its answers
}

const (
	// controlTimeout is the time limit for an answer of a running gateway.
	controlTimeout = 30 * time.Second
	// helloTimeout is the time limit for its description. A gateway that is
	// stopped, for example by Ctrl-Z, must not delay every command.
	helloTimeout = 2 * time.Second
	// tellTimeout is the time limit for TellAll.
	tellTimeout = 5 * time.Second
)

// Gateways returns the running gateways of this user, newest last, without the
// private ones.
func Gateways(ctx context.Context) []*Remote {
	list, _ := public(ctx)
	return list
}

// public returns the gateways that are not private, and the sockets of gateways
// that do not answer.
func public(ctx context.Context) (list []*Remote, silent []string) {
	list, silent = all(ctx)
	return slices.DeleteFunc(list, func(r *Remote) bool { return r.Private != "" }), silent
}

// Private returns the gateway with a mark; nil if none runs.
func Private(ctx context.Context, mark string) *Remote {
	list, _ := all(ctx)
	for _, r := range list {
		if r.Private == mark {
			return r
		}
	}
	return nil
}

// all returns every running gateway of this user, and the sockets of gateways
// that do not answer. It removes sockets without a listener.
func all(ctx context.Context) (list []*Remote, silent []string) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	remotes, errs := ask(func(r *Remote) error { return r.Get(ctx, "/local", &r.Info) })
	for i, r := range remotes {
		switch err := errs[i]; {
		case err == nil:
			list = append(list, r)
		case errors.Is(err, syscall.ECONNREFUSED):
			os.Remove(r.Socket)
		case errors.Is(err, context.DeadlineExceeded):
			silent = append(silent, r.Socket)
		}
	}
	return list, silent
}

// ask sends a request to all gateways concurrently, so that a gateway that does
// not answer does not delay the others.
func ask(question func(*Remote) error) ([]*Remote, []error) {
	paths := sockets()
	remotes, errs := make([]*Remote, len(paths)), make([]error, len(paths))
	var asked sync.WaitGroup
	for i, path := range paths {
		remotes[i] = Dial(path)
		asked.Go(func() { errs[i] = question(remotes[i]) })
	}
	asked.Wait()
	return remotes, errs
}

func sockets() []string {
	list, _ := filepath.Glob(filepath.Join(Dir(), "*.sock")) // the pattern is valid
	return list
}

func Dial(path string) *Remote {
	return &Remote{Socket: path, HTTP: &http.Client{Timeout: controlTimeout, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		},
	}}}
}

// Running returns the gateway that uses our config file; nil if there is none.
// If there is no config file, it returns the only running gateway.
func Running(ctx context.Context, a *env.Env, config string) *Remote {
	list, silent := public(ctx)
	for _, socket := range silent {
		pid := strings.TrimSuffix(filepath.Base(socket), ".sock")
		fmt.Fprintf(a.Stderr, a.T("warning: the gateway with process ID %s does not answer and is passed over; continue it if it was stopped (Ctrl-Z), or end it\n",
			"警告：进程号为 %s 的网关没有应答，已跳过；如果它被暂停（Ctrl-Z），请让它继续，或结束它\n"), pid)
	}
	for _, l := range slices.Backward(list) {
		l.lang = a.Lang
		if l.Config == config {
			return l
		}
	}
	if config == "" && len(list) == 1 {
		return list[0]
	}
	return nil
}

func (r *Remote) Get(ctx context.Context, path string, into any) error {
	return r.do(ctx, http.MethodGet, path, nil, into)
}

func (r *Remote) Post(ctx context.Context, path string, body, into any) error {
	return r.do(ctx, http.MethodPost, path, body, into)
}

func (r *Remote) do(ctx context.Context, method, path string, body, into any) error {
	var send io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, send)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(api.ChangeHeader, "1")
	req.Header.Set("Accept-Language", r.lang.Tag())
	resp, err := r.HTTP.Do(req)
	if err != nil {
		return i18n.Errorf("asking the running gateway: %w", "询问正在运行的网关失败：%w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return Failure(resp)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// Failure returns the error in a gateway's response.
func Failure(resp *http.Response) error {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&body) != nil || body.Error.Message == "" {
		body.Error.Message = resp.Status
	}
	return env.Fail(env.ExitFailure, env.CodeControl, "", "%s", body.Error.Message)
}

// Edited marks a reload request after a command, not a person, changed the file.
const Edited = "edited"

// ReloadRunning makes a running gateway reload its config file, which a command
// has changed.
func ReloadRunning(ctx context.Context, a *env.Env, config string) (told bool, err error) {
	r := Running(ctx, a, config)
	if r == nil {
		return false, nil
	}
	return true, r.Post(ctx, "/reload?"+Edited, nil, nil)
}

// The notifications of TellAll.
const (
	KeysChanged    = "/keys"
	SignInsChanged = "/sign-ins"
)

// TellAll notifies every running gateway of this user of a changed file,
// because gateways with different config files may share it. The change is in
// effect when TellAll returns. The error covers the gateways that could not be
// notified.
func TellAll(ctx context.Context, a *env.Env, what string) (told bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	_, errs := ask(func(r *Remote) error {
		r.lang = a.Lang
		return r.Post(ctx, what, nil, nil)
	})
	var failed []error
	for _, err := range errs {
		switch {
		case err == nil:
			told = true
		case !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist): // these have ended
			failed = append(failed, err)
		}
	}
	return told, errors.Join(failed...)
}
