package use

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web"
	"mcp-all-in-one/internal/web/inbox"
)

func InboxCommand(a *env.Env) *cobra.Command {
	var forScript bool
	cmd := &cobra.Command{
		Use:   "inbox [answer|decline|cancel ID [NAME=VALUE ...]]",
		Short: a.T("show and answer the open questions of the running gateway", "查看并回答正在运行的网关中等待的问题"),
		Example: "  mcp-all-in-one inbox\n  mcp-all-in-one inbox answer 3-9f2c01b7a4de name=Ann\n" +
			"  mcp-all-in-one inbox answer 4-0be1d27c5a90 'text=The answer'\n  mcp-all-in-one inbox decline 5-77d0e4c1b2fa\n" +
			"  mcp-all-in-one inbox answer 6-51ce8a90f3b2 --for-script",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := control.RunningHere(cmd.Context(), a)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return listInbox(a, cmd, r)
			}
			if len(args) < 2 {
				return command.UsageError(a, cmd, a.T("an ID is missing", "缺少 ID"))
			}
			return answerInbox(a, cmd, r, args[0], args[1], args[2:], forScript)
		},
	}
	cmd.Flags().BoolVar(&forScript, "for-script", false, a.T("with answer: a yes also to all further calls of the same tool by this run of the script, with any arguments", "用于 answer：同时允许本次脚本运行中对同一工具的后续所有调用，不论参数"))
	return cmd
}

func listInbox(a *env.Env, cmd *cobra.Command, r *control.Remote) error {
	all, err := questionsOf(r, cmd)
	if err != nil {
		return err
	}
	if env.ShowJSON(a, all) {
		return nil
	}
	all.tellAbsent(a)
	if len(all.Questions) == 0 {
		fmt.Fprintln(a.Stderr, a.T("no question waits", "没有等待回答的问题"))
	}
	for _, q := range all.Questions {
		message, _ := jsonrpc.GetString(q.Params, "message")
		if q.Kind == "approval" { // the arguments of the call
			message = fmt.Sprintf("%s %s", q.Tool, q.Params)
		}
		if q.Kind == "host" {
			host, _ := jsonrpc.GetString(q.Params, "host")
			failed, _ := jsonrpc.GetString(q.Params, "failed")
			message = a.T("wanted "+host+"; answer allows it always ", "试图访问 "+host+"；answer 表示始终允许 ") + failed
		}
		if q.Kind == "share" {
			message = shareText(a, q.Params)
		}
		fmt.Fprintf(a.Stdout, "%s\t%s\t%s\t%s\n", q.ID, q.Kind, q.Server, i18n.Seen(message))
		if q.Code != "" {
			fmt.Fprintf(a.Stdout, "\t%s\n", a.T("from a script:", "来自脚本："))
			for line := range strings.SplitSeq(q.Code, "\n") {
				fmt.Fprintf(a.Stdout, "\t  %s\n", i18n.Seen(line))
			}
		}
		if q.Replica != "" {
			fmt.Fprintf(a.Stdout, "\t%s %s\n", a.T("replica", "副本"), q.Replica)
		}
		if q.Client != "" {
			fmt.Fprintf(a.Stdout, "\t%s\n", i18n.Seen(q.Client))
		}
		for _, f := range probe.Form(jsonrpc.Get(q.Params, "requestedSchema")) {
			fmt.Fprintf(a.Stdout, "\t%s %s\n", f.Name, f.Type)
		}
	}
	return nil
}

// shareText says what a client would get.
func shareText(a *env.Env, params json.RawMessage) string {
	var p struct {
		Name, Schema string
		Write        bool
		Days         int
	}
	if json.Unmarshal(params, &p) != nil {
		return ""
	}
	what := a.T("its read-only tools", "其只读工具")
	if p.Write {
		what = a.T("all of its tools", "其所有工具")
	}
	return fmt.Sprintf(a.T("asks for access to the schema %s, %s, for %d days; it calls itself %q; answer with the code on its page", "请求访问 schema %s：%s，%d 天；它自称 %q；请以其页面上的验证码（code）答复"), p.Schema, what, p.Days, p.Name)
}

// waiting are the open questions, in a cluster those of all replicas.
type waiting struct {
	Questions []inbox.Question `json:"questions"`
	Replicas  []web.Replica    `json:"replicas,omitempty"`
}

// tellAbsent names the replicas whose questions are not known.
func (w *waiting) tellAbsent(a *env.Env) {
	for _, one := range w.Replicas {
		if one.Error != "" {
			fmt.Fprintf(a.Stderr, a.T("replica %s does not answer: %s\n", "副本 %s 没有应答：%s\n"), one.Name, i18n.Seen(a.T(one.Error, one.ErrorZH)))
		}
	}
}

func questionsOf(r *control.Remote, cmd *cobra.Command) (waiting, error) {
	var overview struct {
		Inbox    []inbox.Question
		Replicas []web.Replica
	}
	err := r.Get(cmd.Context(), "/api/v1/overview?replica=*", &overview)
	return waiting{overview.Inbox, overview.Replicas}, err
}

func answerInbox(a *env.Env, cmd *cobra.Command, r *control.Remote, verb, id string, words []string, forScript bool) error {
	answer := inbox.Answer{Action: map[string]string{"answer": "accept", "accept": "accept", "decline": "decline", "cancel": "cancel"}[verb]}
	if answer.Action == "" {
		return command.UsageError(a, cmd, fmt.Sprintf("%s %q", a.T("unknown verb", "未知的动作"), verb))
	}
	if forScript && answer.Action != "accept" {
		return command.UsageError(a, cmd, a.T("--for-script goes with answer", "--for-script 只能与 answer 一起使用"))
	}
	if forScript {
		answer.For = traffic.ForScript
	}
	all, err := questionsOf(r, cmd)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all.Questions, func(q inbox.Question) bool { return q.ID == id })
	if i < 0 {
		all.tellAbsent(a)
		return env.Fail(env.ExitUsage, env.CodeUsage, a.Again("inbox"), "%s %q", a.T("no question waits with the ID", "没有等待回答的问题，其 ID 为"), id)
	}
	q := &all.Questions[i]
	if answer.Action == "accept" {
		if answer.Content, err = inboxContent(q, words); err != nil {
			return err
		}
	}
	path := "/api/v1/inbox/" + url.PathEscape(id)
	if q.Replica != "" {
		path += "?replica=" + url.QueryEscape(q.Replica)
	}
	if err := r.Post(cmd.Context(), path, answer, nil); err != nil {
		return err
	}
	done := map[string]string{"accept": a.T("answered: ", "已回答："), "decline": a.T("declined: ", "已拒绝："), "cancel": a.T("cancelled: ", "已取消：")}[answer.Action]
	if q.Kind == "approval" && answer.Action == "accept" {
		done = a.T("approved: ", "已批准：")
	}
	if !a.JSON {
		fmt.Fprintln(a.Stderr, done+strings.TrimSpace(q.Server+" "+q.Tool))
	}
	return nil
}

// inboxContent builds the content of an answer, with the types that the
// question asks for.
func inboxContent(q *inbox.Question, words []string) (json.RawMessage, error) {
	content, err := (&probe.ArgumentParser{Schema: jsonrpc.Get(q.Params, "requestedSchema")}).Parse(nil, words)
	if err != nil {
		return nil, env.Fail(env.ExitUsage, env.CodeArgument, "", "%v", err)
	}
	for _, f := range probe.Form(jsonrpc.Get(q.Params, "requestedSchema")) {
		if f.Required && jsonrpc.Get(content, f.Name) == nil {
			return nil, env.Fail(env.ExitUsage, env.CodeArgument, "", "%w", &probe.MissingError{Name: f.Name})
		}
	}
	if q.Kind != "sampling" {
		return content, nil
	}
	text, _ := jsonrpc.GetString(content, "text")
	return probe.Complete(&probe.Question{Method: "sampling/createMessage"}, jsonrpc.Quote(text))
}
