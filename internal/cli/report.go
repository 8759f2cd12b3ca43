package cli

import (
	"errors"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/config"
)

// report prints an error and returns the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	var e *exitError
	if errors.As(err, &e) {
		if e.err != nil {
			printError(a, e)
		}
		return exitCode(a, e.code)
	}
	var load *config.LoadError
	if errors.As(err, &load) {
		return reportConfig(a, load)
	}
	var missing *config.NameError
	if errors.As(err, &missing) {
		return a.report(nameError(a, missing))
	}
	printError(a, &exitError{code: exitFailure, err: err, plain: a.personality.plain})
	return exitFailure
}

// exitCode is the one that scripts for the program know: those of the older
// programs know only 1.
func exitCode(a *app, code int) int {
	if a.personality.plain && code != exitOK && code != exitInterrupted {
		return exitFailure
	}
	return code
}

// reportConfig says what is wrong with the config file, in the words of the
// program that we are.
func reportConfig(a *app, e *config.LoadError) int {
	if a.personality.config == config.MCPX && !a.asJSON {
		fmt.Fprintln(a.Stderr, mcpxHeadline(e))
	}
	printProblems(a, e.Problems)
	if !a.personality.plain {
		return exitUsage
	}
	if a.personality.example != "" {
		fmt.Fprintf(a.Stderr, "%s%s\n", a.t("Example: ", "示例："), a.personality.example)
	}
	return exitFailure
}

// mcpxHeadline is how MCPX called a config file that it could not use.
func mcpxHeadline(e *config.LoadError) string {
	file := ""
	for _, p := range e.Problems {
		if p.Severity == config.SeverityError {
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

// printError says what failed, where, why, and what to do about it where that
// is known.
func printError(a *app, e *exitError) {
	if a.asJSON {
		printErrorJSON(a, e)
		return
	}
	if e.plain {
		fmt.Fprintf(a.Stderr, "Error: %s\n", a.lang.Of(e.err))
	} else {
		label := a.t("error", "错误")
		if e.id != "" {
			label += "[" + e.id + "]"
		}
		fmt.Fprintf(a.Stderr, "%s%s%s\n", a.paint(red, label), a.t(": ", "："), a.lang.Of(e.err))
	}
	rows := e.details
	if e.hint != "" {
		rows = append(rows[:len(rows):len(rows)], detail{a.t("fix", "修正"), e.hint})
	}
	if _, known := explain(e.id); known && !e.plain {
		// The other programs that this one is do not have the command.
		rows = append(rows[:len(rows):len(rows)], detail{a.t("more", "详情"), "mcp-all-in-one explain " + e.id})
	}
	for _, row := range rows {
		fmt.Fprintf(a.Stderr, "  %s  %s\n", padRight(row.label, 8), strings.ReplaceAll(row.text, "\n", "\n            "))
	}
}

func printErrorJSON(a *app, e *exitError) {
	body := map[string]any{"exit": e.code, "message": e.err.Error()}
	if e.id != "" {
		body["code"] = e.id
	}
	if e.hint != "" {
		body["hint"] = e.hint
	}
	for _, row := range e.details {
		body[row.label] = row.text
	}
	writeLine(a.Stderr, map[string]any{"error": body})
}

func printProblems(a *app, problems []config.Problem) {
	if a.asJSON {
		writeLine(a.Stderr, map[string]any{"error": map[string]any{"exit": exitUsage, "problems": problems}})
		return
	}
	for _, p := range problems {
		fmt.Fprintln(a.Stderr, a.problemText(p))
	}
}

// problemText is a problem of the config file in the user's language.
func (a *app) problemText(p config.Problem) string {
	return p.In(a.lang)
}
