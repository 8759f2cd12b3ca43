package command

// The groups of commands in the help.
const (
	GroupRun    = "run"
	GroupUse    = "use"
	GroupManage = "manage"
	GroupClient = "client"
	GroupOther  = "other"
)
