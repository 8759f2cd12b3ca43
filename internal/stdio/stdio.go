// Package stdio runs servers as child processes and exchanges messages with them.
//
// It owns the one helper process that starts all children, and the life of the
// children: environment, standard error, stopping, and killing every process that
// they forked. It also has the standard streams of this process. Package lines
// frames the messages.
package stdio
