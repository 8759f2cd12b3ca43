package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web"
)

// A remote is a running gateway, reached over its control channel.
type remote struct {
	controlInfo
	socket string
	http   *http.Client
	lang   i18n.Lang // in which it is to answer
}

// controlTimeout bounds what a running gateway may take to answer.
const controlTimeout = 30 * time.Second

// gateways finds the running gateways of this user, newest last. Sockets that
// nobody listens on any more are removed.
func gateways(ctx context.Context) []*remote {
	sockets, _ := filepath.Glob(filepath.Join(controlDir(), "*.sock")) // the pattern is ours
	var list []*remote
	for _, path := range sockets {
		r := dialControl(path)
		err := r.get(ctx, "/local", &r.controlInfo)
		if errors.Is(err, syscall.ECONNREFUSED) {
			os.Remove(path)
		}
		if err == nil {
			list = append(list, r)
		}
	}
	return list
}

func dialControl(path string) *remote {
	return &remote{socket: path, http: &http.Client{Timeout: controlTimeout, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		},
	}}}
}

// running finds the gateway that uses our config file; nil when there is none.
// Without a config file of its own to go by, the only gateway is meant.
func running(ctx context.Context, a *app, config string) *remote {
	list := gateways(ctx)
	for i := len(list) - 1; i >= 0; i-- {
		list[i].lang = a.lang
		if list[i].Config == config {
			return list[i]
		}
	}
	if config == "" && len(list) == 1 {
		return list[0]
	}
	return nil
}

func (r *remote) get(ctx context.Context, path string, into any) error {
	return r.do(ctx, http.MethodGet, path, nil, into)
}

func (r *remote) post(ctx context.Context, path string, body, into any) error {
	return r.do(ctx, http.MethodPost, path, body, into)
}

func (r *remote) do(ctx context.Context, method, path string, body, into any) error {
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
	req.Header.Set(web.ChangeHeader, "1")
	req.Header.Set("Accept-Language", r.lang.Tag())
	resp, err := r.http.Do(req)
	if err != nil {
		return i18n.Errorf("asking the running gateway: %w", "询问正在运行的网关失败：%w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return controlFailure(resp)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// controlFailure is what the gateway says went wrong.
func controlFailure(resp *http.Response) error {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&body) != nil || body.Error.Message == "" {
		body.Error.Message = resp.Status
	}
	return fail(exitFailure, codeControl, "", "%s", body.Error.Message)
}

// reloadRunning tells a running gateway that its file has changed.
func reloadRunning(ctx context.Context, a *app, config string) (told bool, err error) {
	r := running(ctx, a, config)
	if r == nil {
		return false, nil
	}
	return true, r.post(ctx, "/reload", nil, nil)
}
