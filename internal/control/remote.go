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

// A Remote is a running gateway, reached over its control channel.
type Remote struct {
	Info
	Socket string
	HTTP   *http.Client
	lang   i18n.Lang // in which it is to answer
}

const (
	// controlTimeout bounds what a running gateway may take to answer.
	controlTimeout = 30 * time.Second
	// helloTimeout bounds what it may take to say who it is: a gateway that is
	// stopped, by Ctrl-Z say, must not hold up every command.
	helloTimeout = 2 * time.Second
	// tellTimeout bounds what it may take to act on TellAll.
	tellTimeout = 5 * time.Second
)

// Gateways finds the running gateways of this user, newest last, beside the
// private ones.
func Gateways(ctx context.Context) []*Remote {
	list, _ := public(ctx)
	return list
}

// public finds the gateways that are not private, and the sockets of those
// that do not answer.
func public(ctx context.Context) (list []*Remote, silent []string) {
	list, silent = all(ctx)
	return slices.DeleteFunc(list, func(r *Remote) bool { return r.Private != "" }), silent
}

// Private finds the gateway of a mark; nil when none runs.
func Private(ctx context.Context, mark string) *Remote {
	list, _ := all(ctx)
	for _, r := range list {
		if r.Private == mark {
			return r
		}
	}
	return nil
}

// all finds every running gateway of this user, and the sockets of those that
// do not answer. Sockets that nobody listens on any more are removed.
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

// ask asks all gateways at once, so that one that does not answer costs its own
// time alone.
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
	list, _ := filepath.Glob(filepath.Join(Dir(), "*.sock")) // the pattern is ours
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

// Running finds the gateway that uses our config file; nil when there is none.
// Without a config file of its own to go by, the only gateway is meant.
func Running(ctx context.Context, a *env.Env, config string) *Remote {
	list, silent := public(ctx)
	for _, socket := range silent {
		pid := strings.TrimSuffix(filepath.Base(socket), ".sock")
		fmt.Fprintf(a.Stderr, a.T("warning: the gateway with process ID %s does not answer and is passed over; continue it if it was stopped (Ctrl-Z), or end it\n",
			"警告：进程号为 %s 的网关没有应答，已跳过；如果它被暂停（Ctrl-Z），请让它继续，或结束它\n"), pid)
	}
	for i := len(list) - 1; i >= 0; i-- {
		list[i].lang = a.Lang
		if list[i].Config == config {
			return list[i]
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

// Failure is what the gateway says went wrong.
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

// Edited says in a request to reload that the file was changed by a command of
// ours, not by hand.
const Edited = "edited"

// ReloadRunning tells a running gateway that a command has changed its file.
func ReloadRunning(ctx context.Context, a *env.Env, config string) (told bool, err error) {
	r := Running(ctx, a, config)
	if r == nil {
		return false, nil
	}
	return true, r.Post(ctx, "/reload?"+Edited, nil, nil)
}

// What TellAll can tell.
const (
	KeysChanged    = "/keys"
	SignInsChanged = "/sign-ins"
)

// TellAll tells every running gateway of this user what has changed in a file:
// gateways of several config files may share it. It counts there when TellAll
// returns; the error is of those that could not be told.
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
		case !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, fs.ErrNotExist): // those have ended
			failed = append(failed, err)
		}
	}
	return told, errors.Join(failed...)
}
