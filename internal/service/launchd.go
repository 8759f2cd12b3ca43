package service

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/lazy"
)

// Launchd manages an agent of the user.
type Launchd struct{ home string }

// NewLaunchd returns the launchd manager of the user with this home folder.
func NewLaunchd(home string) *Launchd { return &Launchd{home: home} }

func (l *Launchd) file() string {
	return filepath.Join(l.home, "Library", "LaunchAgents", Label+".plist")
}

func (l *Launchd) log() string { return filepath.Join(l.home, "Library", "Logs", Name+".log") }

// domain returns the launchd domain of the user's session.
func domain() string { return "gui/" + strconv.Itoa(os.Getuid()) }

// Describe returns the property list.
func (l *Launchd) Describe(spec Spec) string {
	var words strings.Builder
	for _, word := range append([]string{spec.Program}, spec.Args...) {
		words.WriteString("<string>" + escape(word) + "</string>")
	}
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by: %s. A change is lost when that is run again. -->
<plist version="1.0">
<dict>
  <key>Label</key><string>%s</string>
  <key>ProgramArguments</key>
  <array>%s</array>
  <key>EnvironmentVariables</key>
  <dict><key>PATH</key><string>%s</string></dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>10</integer>
  <key>ExitTimeOut</key><integer>%d</integer>
  <key>ProcessType</key><string>Interactive</string>
  <key>StandardOutPath</key><string>%s</string>
  <key>StandardErrorPath</key><string>%[6]s</string>
</dict>
</plist>
`, mark, Label, words.String(), escape(spec.Path), stopSeconds, escape(l.log()))
}

func escape(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(s)) // writing to memory never fails
	return b.String()
}

// Install writes the property list and loads it, replacing an earlier one.
func (l *Launchd) Install(ctx context.Context, spec Spec) error {
	if err := os.MkdirAll(filepath.Dir(l.log()), 0o755); err != nil {
		return err
	}
	loaded := exists(l.file())
	if err := write(l.file(), l.Describe(spec)); err != nil {
		return err
	}
	if loaded {
		// It fails if the agent is not loaded, which is fine.
		_, _ = run(ctx, "launchctl", "bootout", domain()+"/"+Label)
	}
	_, err := run(ctx, "launchctl", "bootstrap", domain(), l.file())
	return err
}

// Uninstall stops the agent and removes it.
func (l *Launchd) Uninstall(ctx context.Context) error {
	if err := ours(l.file()); err != nil {
		return err
	}
	st, err := l.Status(ctx)
	if err != nil {
		return err
	}
	if st.State != "not loaded" {
		if _, err := run(ctx, "launchctl", "bootout", domain()+"/"+Label); err != nil {
			return err
		}
	}
	return os.Remove(l.file())
}

var (
	launchdState = lazy.Regexp(`(?m)^\s*state = (.+)$`)
	launchdPID   = lazy.Regexp(`(?m)^\s*pid = (\d+)$`)
)

// Status returns the state from launchd.
func (l *Launchd) Status(ctx context.Context) (Status, error) {
	st := Status{Logs: l.log(), State: "not installed"}
	if !exists(l.file()) {
		return st, nil
	}
	st.Installed, st.File, st.State = true, l.file(), "not loaded"
	out, err := run(ctx, "launchctl", "print", domain()+"/"+Label)
	if err != nil {
		return st, nil // the agent is not loaded
	}
	if m := launchdState().FindStringSubmatch(out); m != nil {
		st.State = m[1]
		st.Running = m[1] == "running"
	}
	if m := launchdPID().FindStringSubmatch(out); m != nil {
		st.PID, _ = strconv.Atoi(m[1]) // only digits
	}
	return st, nil
}

// Logs prints the end of the log file.
func (l *Launchd) Logs(ctx context.Context, out io.Writer, lines int, follow bool) error {
	return tail(ctx, out, l.log(), lines, follow)
}
