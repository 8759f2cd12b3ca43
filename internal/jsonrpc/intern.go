package jsonrpc

// methodName returns the text of a method member. It does not allocate for
// well-known names.
func methodName(raw []byte) string {
	if name, ok := names[string(raw[1:len(raw)-1])]; ok {
		return name
	}
	return unquote(raw)
}

var names = func() map[string]string {
	m := make(map[string]string)
	for _, name := range []string{
		"completion/complete",
		"elicitation/create",
		"initialize",
		"logging/setLevel",
		"notifications/cancelled",
		"notifications/elicitation/complete",
		"notifications/initialized",
		"notifications/message",
		"notifications/progress",
		"notifications/prompts/list_changed",
		"notifications/resources/list_changed",
		"notifications/resources/updated",
		"notifications/roots/list_changed",
		"notifications/tasks/status",
		"notifications/tools/list_changed",
		"ping",
		"prompts/get",
		"prompts/list",
		"resources/list",
		"resources/read",
		"resources/subscribe",
		"resources/templates/list",
		"resources/unsubscribe",
		"roots/list",
		"sampling/createMessage",
		"server/discover",
		"subscriptions/listen",
		"tasks/cancel",
		"tasks/get",
		"tasks/list",
		"tasks/result",
		"tasks/update",
		"tools/call",
		"tools/list",
	} {
		m[name] = name
	}
	return m
}()
