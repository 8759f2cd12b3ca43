package use

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/output"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/traffic"
)

// trafficFlags are the flags of traffic.
type trafficFlags struct {
	follow, hops bool
	open         uint64
	limit        int
	total        time.Duration
	// not holds terms that begin with a minus, as flags do.
	not []string
}

func TrafficCommand(a *env.Env) *cobra.Command {
	var f trafficFlags
	cmd := &cobra.Command{
		Use:   "traffic [FILTER ...]",
		Short: a.T("show the calls that pass through the running gateway", "显示经过正在运行的网关的消息"),
		Long: a.T("Shows the calls that passed through the running gateway, and with --follow new calls as they happen.\nAll terms of a filter must hold:\n"+trafficGrammar,
			"显示经过正在运行的网关的调用；加 --follow 持续显示。\n过滤条件须全部满足：\n"+trafficGrammarZH),
		Example: "  mcp-all-in-one traffic -f\n  mcp-all-in-one traffic 'client:claude-code method:tools/call dur:>500ms -status:ok'\n" +
			"  mcp-all-in-one traffic --open 12\n  mcp-all-in-one traffic since:10m --json",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
			defer stop()
			return runTraffic(ctx, a, &f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, a.T("show new calls as they happen", "持续显示新的消息"))
	flags.BoolVar(&f.hops, "hops", false, a.T("also without a filter: both hops, and notifications", "无过滤条件时也显示两段消息与通知"))
	flags.Uint64Var(&f.open, "open", 0, a.T("show the call `ID` with its bodies and related calls", "显示调用 `ID`，包括消息体与相关消息"))
	flags.IntVarP(&f.limit, "limit", "n", 50, a.T("show the last `N` calls (50)", "显示最近 `N` 次调用（50）"))
	flags.DurationVar(&f.total, "for", 0, a.T("end --follow after `TIME`", "`TIME` 后结束 --follow"))
	flags.StringArrayVar(&f.not, notFlag, nil, "")
	// The flag is defined in the line above.
	_ = flags.MarkHidden(notFlag)
	return cmd
}

const trafficGrammar = `  word          it occurs in a name or at the beginning of a body; text:"a b" with blanks
  field:value   * stands for anything, a,b for either; -field:value for the others
                client server schema session principal method name tool status code hop kind bench id parent
  dur:>500ms    also gateway, transport, srv
  size:>100kb   also req, res
  since:10m     started at most that long ago
  from:TIME     started then or later; to:TIME before then: 2026-11-16T13:45:00Z`

const trafficGrammarZH = `  词            出现在名称或消息体开头；text:"a b" 可含空格
  field:value   * 匹配任意内容，a,b 为二者之一；-field:value 取反
                client server schema session principal method name tool status code hop kind bench id parent
  dur:>500ms    另有 gateway、transport、srv
  size:>100kb   另有 req、res
  since:10m     最近多长时间内开始的
  from:TIME     在此时间或之后开始；to:TIME 在此之前：2026-11-16T13:45:00Z`

// notFlag passes a term with a minus through the flag parser.
const notFlag = "not"

// ShieldTerms allows terms of a filter that begin with a minus, such as
// -status:ok.
func ShieldTerms(args []string, at int) []string {
	if at < 0 || args[at] != "traffic" {
		return args
	}
	out := slices.Clone(args)
	for i := at + 1; i < len(out); i++ {
		field, _, ok := strings.Cut(out[i], ":")
		if ok && len(field) > 2 && field[0] == '-' && field[1] != '-' && !strings.ContainsAny(field, "= ") {
			out[i] = "--" + notFlag + "=" + out[i][1:]
		}
	}
	return out
}

func runTraffic(ctx context.Context, a *env.Env, f *trafficFlags, words []string) error {
	for _, term := range f.not {
		words = append(words, "-"+term)
	}
	filter := strings.Join(words, " ")
	if _, err := traffic.ParseFilter(filter); err != nil {
		return env.Fail(env.ExitUsage, env.CodeUsage, "mcp-all-in-one traffic --help", "%v", err)
	}
	r, err := control.RunningHere(ctx, a)
	if err != nil {
		return err
	}
	v := &trafficView{env: a, remote: r, filter: filter, plain: filter == "" && !f.hops, shown: make(map[uint64]bool)}
	switch {
	case f.open != 0:
		return v.open(ctx, f.open)
	case f.follow:
		return v.follow(ctx, f.limit, f.total)
	}
	return v.past(ctx, f.limit)
}

// A trafficView is the part of a gateway's record that a command shows.
type trafficView struct {
	env    *env.Env
	remote *control.Remote
	filter string
	// plain shows one row per call, as the console does.
	plain bool
	shown map[uint64]bool
	last  uint64
}

// list returns matching entries, newest first.
func (v *trafficView) list(ctx context.Context, more string, limit int) ([]traffic.Call, error) {
	terms := v.filter + " " + more
	if v.plain {
		terms += " kind:call parent:0"
	}
	var page struct{ Calls []traffic.Call }
	query := url.Values{"q": {strings.TrimSpace(terms)}, "limit": {strconv.Itoa(limit)}}
	return page.Calls, v.remote.Get(ctx, "/api/v1/traffic?"+query.Encode(), &page)
}

// past prints the newest entries, oldest first.
func (v *trafficView) past(ctx context.Context, limit int) error {
	calls, err := v.list(ctx, "", limit)
	if err != nil {
		return err
	}
	slices.Reverse(calls)
	a := v.env
	if a.JSON {
		for i := range calls {
			env.WriteLine(a.Stdout, &calls[i])
		}
		return nil
	}
	t := &env.Table{Head: []string{"ID", a.T("TIME", "时间"), a.T("CLIENT", "客户端"), a.T("SERVER", "服务器"), a.T("METHOD", "方法"),
		a.T("NAME", "名称"), a.T("STATUS", "状态"), a.T("TOOK", "耗时"), a.T("SIZE", "大小")}, Paint: paintStatus,
		Word: func(column int, cell string) string { return trafficWord(a, column, cell) },
		None: a.T("no message fits, or none has passed yet", "没有符合条件的消息，或尚无消息经过")}
	for i := range calls {
		t.Add(trafficRow(&calls[i])...)
	}
	a.Print(t)
	return nil
}

const statusColumn = 6

// trafficWord translates a cell for a terminal.
func trafficWord(a *env.Env, column int, cell string) string {
	if column != statusColumn {
		return output.Sized(a, cell)
	}
	status, code, coded := strings.Cut(cell, " ")
	words := map[string]string{traffic.StatusOK: "正常", traffic.StatusError: "错误", traffic.StatusToolError: "工具出错", traffic.StatusPending: "运行中", traffic.StatusCancelled: "已取消"}
	if zh, known := words[status]; known {
		status = a.T(status, zh)
	}
	if coded {
		status += " " + code
	}
	return status
}

func paintStatus(column int, cell string) env.Colour {
	if column != statusColumn || cell == traffic.StatusOK {
		return ""
	}
	if strings.HasPrefix(cell, traffic.StatusPending) || strings.HasPrefix(cell, traffic.StatusCancelled) {
		return env.Yellow
	}
	return env.Red
}

// trafficRow returns the table columns of an entry.
func trafficRow(c *traffic.Call) []string {
	method, status, took := c.Method, c.Status, output.Milliseconds(c.Total)+" ms"
	if c.FromServer {
		method = "← " + method
	}
	if c.Code != 0 {
		status += " " + strconv.FormatInt(c.Code, 10)
	}
	if c.Status == traffic.StatusPending || c.Kind == traffic.KindNotification {
		took = ""
	}
	client := c.Client
	if c.Bench {
		client = "(bench)"
	}
	return []string{strconv.FormatUint(c.ID, 10), c.Start.Local().Format("15:04:05.000"), i18n.Seen(client), c.Server, i18n.Seen(method), i18n.Seen(c.Name), status, took, output.ByteSize(int(c.ResSize))}
}

// open prints one entry with all details.
func (v *trafficView) open(ctx context.Context, id uint64) error {
	var entry struct {
		Call    traffic.Call    `json:"call"`
		Related []traffic.Call  `json:"related"`
		Request json.RawMessage `json:"request,omitempty"`
		Answer  json.RawMessage `json:"response,omitempty"`
	}
	path := "/api/v1/traffic/" + strconv.FormatUint(id, 10)
	if err := v.remote.Get(ctx, path, &entry); err != nil {
		return err
	}
	request, answer := v.body(ctx, path, "req"), v.body(ctx, path, "res")
	a, c := v.env, &entry.Call
	if a.JSON {
		entry.Request, entry.Answer = orQuoted(request), orQuoted(answer)
		env.WriteLine(a.Stdout, entry)
		return nil
	}
	fmt.Fprintf(a.Stdout, "%s\n", strings.Join(trafficRow(c), "  "))
	fmt.Fprintf(a.Stdout, "%s %s · %s %s · %s %s\n", a.T("gateway", "网关"), output.Milliseconds(c.Gateway), a.T("transport", "传输"), output.Milliseconds(c.Transport), a.T("server", "服务器"), output.Milliseconds(c.ServerTime))
	notes := c.Notes
	if a.Lang == i18n.Chinese && len(c.NotesZH) > 0 {
		notes = c.NotesZH
	}
	for _, note := range notes {
		fmt.Fprintf(a.Stdout, "%s\n", note)
	}
	fmt.Fprintf(a.Stdout, "→ %s\n← %s\n", request, answer)
	for i := range entry.Related {
		if other := &entry.Related[i]; other.ID != id {
			fmt.Fprintf(a.Stdout, "%s\n", strings.Join(trafficRow(other), "  "))
		}
	}
	return nil
}

// body returns the stored part of a body.
func (v *trafficView) body(ctx context.Context, path, side string) string {
	var text strings.Builder
	for {
		var part struct {
			Text   string
			Offset int64
			Size   int64
		}
		if v.remote.Get(ctx, fmt.Sprintf("%s/body?side=%s&offset=%d&limit=%d", path, side, text.Len(), 256<<10), &part) != nil || part.Text == "" {
			return text.String() // the body is no longer stored
		}
		text.WriteString(part.Text)
		if int64(text.Len()) >= part.Size {
			return text.String()
		}
	}
}

// orQuoted returns valid JSON unchanged, and a part of JSON as a string.
func orQuoted(text string) json.RawMessage {
	if text == "" || json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	return raw
}
