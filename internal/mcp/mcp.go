// Package mcp defines the vocabulary of the Model Context Protocol: methods,
// versions, eras, capabilities, error codes, and accessors for the few fields
// that the gateway reads. Only this package contains the dates of versions.
package mcp

import "mcp-all-in-one/internal/jsonrpc"

// Methods that a client sends.
const (
	MethodInitialize        = "initialize"
	MethodPing              = "ping"
	MethodToolsList         = "tools/list"
	MethodToolsCall         = "tools/call"
	MethodResourcesList     = "resources/list"
	MethodResourcesRead     = "resources/read"
	MethodTemplatesList     = "resources/templates/list"
	MethodSubscribe         = "resources/subscribe"
	MethodUnsubscribe       = "resources/unsubscribe"
	MethodPromptsList       = "prompts/list"
	MethodPromptsGet        = "prompts/get"
	MethodComplete          = "completion/complete"
	MethodSetLevel          = "logging/setLevel"
	MethodDiscover          = "server/discover"
	MethodListen            = "subscriptions/listen"
	MethodShutdown          = "shutdown"
	MethodTasksGet          = "tasks/get"
	MethodTasksResult       = "tasks/result"
	MethodTasksList         = "tasks/list"
	MethodTasksCancel       = "tasks/cancel"
	MethodTasksUpdate       = "tasks/update"
	NotificationInitialized = "notifications/initialized"
	NotificationExit        = "notifications/exit"
	NotificationRootsList   = "notifications/roots/list_changed"
)

// Methods that a server sends.
const (
	MethodRootsList        = "roots/list"
	MethodSampling         = "sampling/createMessage"
	MethodElicit           = "elicitation/create"
	NotificationCancelled  = "notifications/cancelled"
	NotificationProgress   = "notifications/progress"
	NotificationMessage    = "notifications/message"
	NotificationTools      = "notifications/tools/list_changed"
	NotificationPrompts    = "notifications/prompts/list_changed"
	NotificationResources  = "notifications/resources/list_changed"
	NotificationUpdated    = "notifications/resources/updated"
	NotificationListening  = "notifications/subscriptions/acknowledged"
	NotificationTasks      = "notifications/tasks" // also the prefix of the notification of 2025-11-25
	NotificationTaskStatus = "notifications/tasks/status"
)

// Keys of _meta that the protocol itself uses since 2026-07-28.
const (
	MetaVersion        = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo     = "io.modelcontextprotocol/clientInfo"
	MetaCapabilities   = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel       = "io.modelcontextprotocol/logLevel"
	MetaServerInfo     = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID = "io.modelcontextprotocol/subscriptionId"
)

// ScriptTool is the tool with which the command line and test files run
// scripts. It is not listed to clients.
const ScriptTool = "mcp-all-in-one/script"

// MetaStarting is the number of servers that are missing from a list because
// they are still starting.
const MetaStarting = "mcp-all-in-one/starting"

// IsCallerMeta reports whether a member of _meta describes the client of a
// modern request.
func IsCallerMeta(key string) bool {
	switch key {
	case MetaVersion, MetaCapabilities, MetaClientInfo, MetaLogLevel:
		return true
	}
	return false
}

// SkillsExtension is the id of the skills extension (SEP-2640); its methods
// follow.
const (
	SkillsExtension     = "io.modelcontextprotocol/skills"
	MethodSkillsList    = "skills/list"
	MethodSkillsGet     = "skills/get"
	MethodDirectoryRead = "resources/directory/read"
)

// TasksExtension is the id of the tasks extension, since 2026-07-28.
const TasksExtension = "io.modelcontextprotocol/tasks"

// Error codes of MCP.
const (
	CodeVersionRefused     = -32000 // a version that no MCP client has ever used
	CodeResourceNotFound   = -32002 // up to 2025-11-25
	CodeHeaderMismatch     = -32020
	CodeCapabilityMissing  = -32021
	CodeVersionUnsupported = -32022
	CodeElicitURL          = -32042 // 2025-11-25 only
)

// Implementation identifies a program: this one, a client or a server.
type Implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Title   string `json:"title,omitempty"`
}

// IsToolError reports whether the result of a tool is a failure.
func IsToolError(result []byte) bool { return string(jsonrpc.Get(result, "isError")) == "true" }
