package service

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// Systemd manages a user unit.
type Systemd struct{ dir string }

// NewSystemd returns the systemd manager of the user with this home folder.
func NewSystemd(home string) *Systemd {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(home, ".config")
	}
	return &Systemd{dir: filepath.Join(dir, "systemd", "user")}
}

func (s *Systemd) file() string { return filepath.Join(s.dir, Name+".service") }

// Describe returns the unit file.
func (s *Systemd) Describe(spec Spec) string {
	words := []string{unitWord(spec.Program)}
	for _, arg := range spec.Args {
		words = append(words, unitWord(arg))
	}
	return fmt.Sprintf(`# Written by: %s. A change is lost when that is run again; use systemctl --user edit %s.
[Unit]
Description=mcp-all-in-one, many MCP servers as one
Documentation=man:mcp-all-in-one(1)

[Service]
Type=notify
ExecStart=%s
ExecReload=/bin/kill -HUP $MAINPID
Environment=%s
Restart=on-failure
RestartSec=2
KillMode=mixed
TimeoutStopSec=%d

[Install]
WantedBy=default.target
`, mark, Name, strings.Join(words, " "), unitValue("PATH="+spec.Path), stopSeconds)
}

// unitValue quotes a text for a unit file.
func unitValue(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "\n", `\n`).Replace(s) + `"`
}

// unitWord quotes a word of a command line, where $ starts a variable.
func unitWord(s string) string { return unitValue(strings.ReplaceAll(s, "$", "$$")) }

// Install writes the unit and starts it now and at each login.
func (s *Systemd) Install(ctx context.Context, spec Spec) error {
	if _, err := run(ctx, "systemctl", "--user", "show-environment"); err != nil {
		return i18n.Errorf("systemd does not run for this user, so no service was installed; run mcp-all-in-one http yourself, or log in to a session of your own: %w",
			"systemd 没有为此用户运行，因此未安装服务；请自行运行 mcp-all-in-one http，或登录到自己的会话：%w", err)
	}
	if err := write(s.file(), s.Describe(spec)); err != nil {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", Name}, {"restart", Name}} {
		if _, err := run(ctx, "systemctl", append([]string{"--user"}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// Uninstall stops the unit and removes it.
func (s *Systemd) Uninstall(ctx context.Context) error {
	if err := ours(s.file()); err != nil {
		return err
	}
	if _, err := run(ctx, "systemctl", "--user", "disable", "--now", Name); err != nil {
		return err
	}
	if err := os.Remove(s.file()); err != nil {
		return err
	}
	_, err := run(ctx, "systemctl", "--user", "daemon-reload")
	return err
}

// Status returns the state from systemd.
func (s *Systemd) Status(ctx context.Context) (Status, error) {
	st := Status{Logs: "journalctl --user -u " + Name, State: "not installed"}
	if !exists(s.file()) {
		return st, nil
	}
	st.Installed, st.File = true, s.file()
	out, err := run(ctx, "systemctl", "--user", "show", Name, "--property=ActiveState,SubState,MainPID")
	if err != nil {
		return st, err
	}
	values := map[string]string{}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = value
	}
	st.Running = values["ActiveState"] == "active"
	st.PID, _ = strconv.Atoi(values["MainPID"]) // 0 if there is none
	st.State = values["ActiveState"] + " (" + values["SubState"] + ")"
	return st, nil
}

// Logs prints the journal of the unit.
func (s *Systemd) Logs(ctx context.Context, out io.Writer, lines int, follow bool) error {
	args := []string{"--user", "-u", Name, "-n", strconv.Itoa(lines), "--no-pager"}
	if follow {
		args = append(args, "-f")
	}
	return show(ctx, out, "journalctl", args...)
}
