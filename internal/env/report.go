package env

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/config/problem"
)

// Report prints an error and returns the exit code.
func (a *Env) Report(err error) int {
	if err == nil {
		return exitOK
	}
	if isFull(err) {
		err = &ExitError{Code: ExitFailure, ID: CodeDiskFull, Err: err, Plain: a.Personality.Plain, Hint: a.T("free space on that disk, or write to another one", "请清理该磁盘的空间，或写入其他磁盘")}
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		if e.Err != nil {
			printError(a, e)
		}
		return exitCode(a, e.Code)
	}
	if load, ok := errors.AsType[*problem.LoadError](err); ok {
		return reportConfig(a, load)
	}
	if missing, ok := errors.AsType[*edit.NameError](err); ok {
		return a.Report(nameError(a, missing))
	}
	printError(a, &ExitError{Code: ExitFailure, Err: err, Plain: a.Personality.Plain})
	return ExitFailure
}

// isFull reports whether a file could not be written because its disk, or the
// user's part of it, is full.
func isFull(err error) bool {
	const windowsDiskFull = syscall.Errno(112)
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || runtime.GOOS == "windows" && errors.Is(err, windowsDiskFull)
}

// exitCode returns the exit code that scripts for the program expect: the older
// programs know only 1.
func exitCode(a *Env, code int) int {
	if a.Personality.Plain && code != exitOK && code != ExitInterrupted {
		return ExitFailure
	}
	return code
}

// reportConfig prints the problems of the config file in the format of the
// current personality.
func reportConfig(a *Env, e *problem.LoadError) int {
	if a.Personality.Config == config.MCPX && !a.JSON {
		fmt.Fprintln(a.Stderr, mcpxHeadline(e))
	}
	printProblems(a, e.Problems)
	if !a.Personality.Plain {
		return ExitUsage
	}
	if a.Personality.example != "" {
		fmt.Fprintf(a.Stderr, "%s%s\n", a.T("Example: ", "示例："), a.Personality.example)
	}
	return ExitFailure
}

// mcpxHeadline returns the message that MCPX printed for an invalid config
// file.
func mcpxHeadline(e *problem.LoadError) string {
	file := ""
	for _, p := range e.Problems {
		if p.Severity == problem.SeverityError {
			file = p.File
		}
	}
	switch {
	case e.Has("AIO2001") && file == "":
		return "Config file not found: name one, or create ~/.mcpx/config.json, such as {\"mcp_servers\": []}"
	case e.Has("AIO2001"):
		return "Config file not found: " + file
	case e.Has("AIO2009"), e.Has("AIO2007"), e.Has("AIO2011"):
		return "Invalid JSON in config file: " + file
	}
	return "Invalid config structure: " + file
}

// printError prints what failed, where, why, and a fix if one is known.
func printError(a *Env, e *ExitError) {
	if a.JSON {
		printErrorJSON(a, e)
		return
	}
	if e.Plain {
		fmt.Fprintf(a.Stderr, "Error: %s\n", a.Lang.Of(e.Err))
	} else {
		label := a.T("error", "错误")
		if e.ID != "" {
			label += "[" + e.ID + "]"
		}
		fmt.Fprintf(a.Stderr, "%s%s%s\n", a.Paint(Red, label), a.T(": ", "："), a.Lang.Of(e.Err))
	}
	rows := e.Details
	if e.Hint != "" {
		rows = append(rows[:len(rows):len(rows)], Detail{a.T("fix", "修正"), e.Hint})
	}
	if _, known := Explain(e.ID); known && !e.Plain {
		// The other personalities do not have the explain command.
		rows = append(rows[:len(rows):len(rows)], Detail{a.T("more", "详情"), "mcp-all-in-one explain " + e.ID})
	}
	for _, row := range rows {
		fmt.Fprintf(a.Stderr, "  %s  %s\n", PadRight(row.Label, 8), strings.ReplaceAll(row.Text, "\n", "\n            "))
	}
}

func printErrorJSON(a *Env, e *ExitError) {
	body := map[string]any{"exit": e.Code, "message": e.Err.Error()}
	if e.ID != "" {
		body["code"] = e.ID
	}
	if e.Hint != "" {
		body["hint"] = e.Hint
	}
	for _, row := range e.Details {
		body[row.Label] = row.Text
	}
	WriteLine(a.Stderr, map[string]any{"error": body})
}

func printProblems(a *Env, problems []problem.Problem) {
	if a.JSON {
		WriteLine(a.Stderr, map[string]any{"error": map[string]any{"exit": ExitUsage, "problems": problems}})
		return
	}
	for _, p := range problems {
		fmt.Fprintln(a.Stderr, a.ProblemText(p))
	}
}

// ProblemText returns a problem of the config file in the user's language.
func (a *Env) ProblemText(p problem.Problem) string {
	return p.In(a.Lang)
}
