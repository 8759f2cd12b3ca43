package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/traffic"
)

func (a *app) fromTrafficCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "from-traffic [FILTER | FILE.mcpcap]",
		Short: a.t("make a test file from real calls", "用真实调用生成测试文件"),
		Long: a.t("Make a test file from the calls that a running gateway recorded, or from a recording.\nSnapshots are written when it first runs.",
			"用正在运行的网关记录的调用或录制文件生成测试文件。\n首次运行时写入快照。"),
		Args: a.argCount(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			suite, err := a.suiteFromTraffic(cmd, strings.Join(args, " "))
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(suite)
			return err
		},
	}
	return cmd
}

func (a *app) suiteFromTraffic(cmd *cobra.Command, what string) ([]byte, error) {
	if strings.HasSuffix(what, ".mcpcap") {
		capture, err := a.readCapture(what)
		if err != nil {
			return nil, err
		}
		return probe.SuiteFrom(nil, capture.Turns()), nil
	}
	r, err := a.needRunning(cmd)
	if err != nil {
		return nil, err
	}
	turns, server, err := r.turns(cmd.Context(), what)
	if err != nil {
		return nil, err
	}
	var from *probe.RunTarget
	if server != "" {
		from = &probe.RunTarget{Server: server}
	}
	return probe.SuiteFrom(from, turns), nil
}

func (a *app) readCapture(path string) (*probe.Capture, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fail(exitUsage, codeUsage, "", "%v", err)
	}
	defer file.Close()
	c, err := probe.ReadCapture(file)
	if err != nil {
		return nil, fail(exitUsage, codeUsage, a.t("recordings are made with record, or with --trace", "录制文件由 record 或 --trace 生成"), "%s: %v", path, err)
	}
	return c, nil
}

// turns reads the calls to servers that a running gateway recorded.
func (r *remote) turns(ctx context.Context, filter string) ([]probe.Turn, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/traffic/export?q="+url.QueryEscape(filter), nil)
	if err != nil {
		return nil, "", err
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return nil, "", fmt.Errorf("asking the running gateway: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, "", controlFailure(resp)
	}
	var turns []probe.Turn
	servers := make(map[string]bool)
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if turn, server, ok := recordedTurn(line); ok {
			turns = append(turns, turn)
			servers[server] = true
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, "", err
		}
	}
	names := sortedKeys(servers)
	if len(names) > 1 {
		return nil, "", fail(exitUsage, codeUsage, "server:"+names[0], "the calls are of several servers: %s", strings.Join(names, ", "))
	}
	return turns, strings.Join(names, ""), nil
}

// recordedTurn is one call to a server, as the record exports it.
func recordedTurn(line []byte) (probe.Turn, string, bool) {
	var entry struct {
		traffic.Call
		Request  json.RawMessage `json:"request"`
		Response json.RawMessage `json:"response"`
	}
	if json.Unmarshal(line, &entry) != nil || entry.Hop != traffic.HopServer || entry.FromServer || entry.Status == traffic.StatusPending {
		return probe.Turn{}, "", false
	}
	t := probe.Turn{Method: entry.Method, Params: entry.Request, Took: entry.Total}
	if entry.Status == traffic.StatusError {
		t.Err = json.RawMessage(fmt.Sprintf(`{"code":%d}`, entry.Code))
	} else {
		t.Result = json.RawMessage(`{}`)
	}
	if entry.Status == traffic.StatusToolError {
		t.Result = json.RawMessage(`{"isError":true}`)
	}
	known := entry.Method == mcp.MethodToolsCall || entry.Method == mcp.MethodResourcesRead || entry.Method == mcp.MethodPromptsGet
	return t, entry.Server, known && len(entry.Request) > 0 && entry.Request[0] == '{'
}
