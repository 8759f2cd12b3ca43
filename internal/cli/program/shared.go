package program

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/mcp"
)

const (
	// sharedWait is the maximum time for the shared tester to start.
	sharedWait = time.Minute
	// sharedAgain is the pause before another start after a tester process has
	// exited without error: either another process holds the lock and is still
	// starting, or the previous one has not ended yet.
	sharedAgain = time.Second
	sharedPoll  = 20 * time.Millisecond
)

// A shared is the background tester that several programs of a user share. There
// is one for each build and config file. It holds a lock as long as it runs, so
// that only one of several processes that start at the same time stays.
type shared struct {
	env    *env.Env
	mark   string
	linger time.Duration
}

func newShared(a *env.Env, linger time.Duration) *shared {
	build := mcp.ThisBuild()
	file := a.ConfigPath
	if abs, err := filepath.Abs(file); file != "" && err == nil {
		file = abs // the tester starts in another folder
	}
	a.ConfigPath = file
	sum := sha256.Sum256([]byte(strings.Join([]string{mcp.ProductVersion, build.Commit, build.Date, file}, "\n")))
	return &shared{env: a, mark: hex.EncodeToString(sum[:6]), linger: linger}
}

// serve runs the tester, unless one is running already.
func (s *shared) serve(ctx context.Context, f daemon.ServeFlags) error {
	if err := os.MkdirAll(control.Dir(), 0o700); err != nil {
		return err
	}
	unlock, taken, err := disk.TryLock(filepath.Join(control.Dir(), "shared-"+s.mark))
	if err != nil || !taken {
		return err
	}
	defer unlock()
	f.Host, f.Port, f.Open, f.Watch = "127.0.0.1", 0, false, true
	f.Private = daemon.Private{Mark: s.mark, Key: config.Secret(rand.Text()), Linger: s.linger}
	return daemon.ServeHTTP(ctx, s.env, f)
}

// joined is the information for a program that uses the shared tester.
type joined struct {
	URL string `json:"url"` // contains a one-time login code
	PID int    `json:"pid"`
	Log string `json:"log"`
}

// join returns the running tester. It starts one if none runs.
func (s *shared) join(ctx context.Context) (joined, error) {
	ctx, cancel := context.WithTimeout(ctx, sharedWait)
	defer cancel()
	poll := time.NewTicker(sharedPoll)
	defer poll.Stop()
	var ended chan error // result of the process started last
	var again time.Time  // when the next start is allowed
	for {
		if r := control.Private(ctx, s.mark); r != nil {
			answer := joined{PID: r.PID, Log: daemon.PrivateLog()}
			if r.Post(ctx, "/code", nil, &answer) == nil { // on error the tester is about to end
				return answer, nil
			}
		}
		if ended == nil && time.Now().After(again) {
			var err error
			if ended, err = s.start(); err != nil {
				return joined{}, err
			}
		}
		select {
		case <-poll.C:
		case err := <-ended:
			if err != nil {
				return joined{}, s.failed(err)
			}
			ended, again = nil, time.Now().Add(sharedAgain)
		case <-ctx.Done():
			return joined{}, s.failed(ctx.Err())
		}
	}
}

// print prints the URL of the tester, or with --json all information.
func (s *shared) print(ctx context.Context) error {
	at, err := s.join(ctx)
	if err != nil {
		return err
	}
	if env.ShowJSON(s.env, at) {
		return nil
	}
	fmt.Fprintln(s.env.Stdout, at.URL)
	return nil
}

// start starts the tester as a detached process that outlives this one.
func (s *shared) start() (ended chan error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folders.StateDir(), 0o700); err != nil {
		return nil, err
	}
	out, err := os.OpenFile(s.output(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(self, "mcp-tester", "--serve-shared", "--linger", s.linger.String())
	if s.env.ConfigPath != "" {
		cmd.Args = append(cmd.Args, "--config", s.env.ConfigPath)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = folders.StateDir(), out, out, detached()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended = make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended, nil
}

// output returns the file for the output of the tester during its start.
func (s *shared) output() string { return filepath.Join(folders.StateDir(), "tester.out") }

// failed reports why the tester did not start. It prints the tester's own
// output if there is any.
func (s *shared) failed(err error) error {
	a := s.env
	if text, readErr := os.ReadFile(s.output()); readErr == nil && len(text) > 0 {
		fmt.Fprint(a.Stderr, string(text))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.New(a.T("it did not start in "+sharedWait.String(), "它在 "+sharedWait.String()+" 内未启动"))
	}
	return env.Fail(env.ExitUnreachable, env.CodeNotRunning, a.T("its log is ", "日志位于 ")+daemon.PrivateLog(),
		"%s: %s", a.T("the shared tester did not start", "共用的测试器未能启动"), a.Lang.Of(err))
}
