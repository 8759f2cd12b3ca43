package env

import (
	"maps"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/problem"
)

// The explanations of the tester's codes.
func init() {
	maps.Copy(explanations, map[string]explanation{
		CodeNotConnected: {"No client with this name or session is connected to the running gateway. The message lists the connected clients; a client that uses no session cannot be imitated.",
			"正在运行的网关没有这个名称或会话的已连接客户端；提示中列出了现有的客户端。不使用会话的客户端无法模仿。"},
		CodeAuth: {"The server answered 401 or 403: it requires authentication. Sign in with `mcp-all-in-one auth login NAME`, or give a token: `--header 'Authorization: Bearer TOKEN'`, or `headers` of its entry.",
			"服务器返回 401 或 403，要求身份验证。用 `mcp-all-in-one auth login NAME` 登录，或提供令牌：`--header 'Authorization: Bearer TOKEN'`，或其条目的 `headers`。"},
		CodeUnreachable: {"The server did not start, could not be reached, or ended before it answered. The last lines that it wrote to standard error are shown.",
			"服务器未能启动、无法连接，或在回答之前结束。错误信息会显示它在标准错误中的最后几行。"},
		CodeTool: {"The call was answered with an error of the protocol. With `data.reason` it is an error of the gateway; otherwise code, message and data are the server's own.",
			"调用得到了协议错误。如果有 `data.reason`，错误来自网关；否则错误码、消息与数据均来自服务器。"},
		CodeUnknownTool: {"The server lists nothing of this name. `mcp-all-in-one list TARGET` shows what it offers.",
			"服务器没有列出这个名称。`mcp-all-in-one list TARGET` 显示其提供的内容。"},
		CodeArgument: {"The arguments do not fit what the tool or prompt declares, so nothing was sent. `--no-validate` sends them anyway.",
			"参数与工具或提示词的声明不符，因此没有发送。`--no-validate` 可强制发送。"},
		CodeOutput: {"The tool's structuredContent does not fit the output schema that the tool itself declares. The result is shown nevertheless.",
			"工具的 structuredContent 不符合它自己声明的输出 schema。结果仍会显示。"},
		CodeTimeout: {"The call exceeded a time limit. `--timeout` limits how long a server may send nothing; progress restarts it. `--max-time` limits the whole call.",
			"调用超时。`--timeout` 是服务器允许静默的时间，收到进度后重新计时；`--max-time` 是调用的总时限。"},
		CodeInterrupted: {"The call was cancelled, and the server was told so.",
			"调用已取消，并已通知服务器。"},
	})
}

// FirstSentence returns the text before the first full stop of either language.
func FirstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	for _, stop := range []string{". ", "。"} {
		if head, _, found := strings.Cut(text, stop); found {
			text = head
		}
	}
	return strings.TrimSuffix(text, ".")
}

// Explain returns the explanation of a code, ours or one of the config file.
func Explain(code string) (explanation, bool) {
	if e, ok := explanations[code]; ok {
		return e, true
	}
	en, zh, ok := problem.Explain(code)
	return explanation{en, zh}, ok
}

// Codes returns all codes that the program can print.
func Codes() []string {
	list := append(problem.Codes(), SortedKeys(explanations)...)
	slices.Sort(list)
	return list
}
