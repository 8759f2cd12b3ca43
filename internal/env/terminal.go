package env

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// A Colour is an ANSI colour code.
type Colour string

const (
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
	Dim    Colour = "2"
)

// Paint colours text for stderr, if stderr shows colours.
func (a *Env) Paint(c Colour, text string) string {
	if !a.colours(a.Stderr) {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// colours reports whether output to w is shown in colour.
func (a *Env) colours(w any) bool {
	if v, ok := a.Getenv("NO_COLOR"); ok && v != "" {
		return false
	}
	if v, ok := a.Getenv("CLICOLOR_FORCE"); ok && v != "" && v != "0" {
		return true
	}
	if v, _ := a.Getenv("TERM"); v == "dumb" {
		return false
	}
	return IsTerminal(w)
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f any) bool {
	if o, ok := f.(*output); ok {
		f = o.Writer
	}
	file, ok := f.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// TextWidth returns the width of a text in columns; East Asian characters take
// two.
func TextWidth(s string) int {
	n := 0
	for _, r := range s {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

func PadRight(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-TextWidth(s)))
}

// browserPatience is how long to wait for the program that opens a browser to
// fail. If it still runs after that, it is the browser itself.
const browserPatience = 3 * time.Second

// OpenBrowser opens a URL in the browser of this machine, or returns the reason
// why it could not.
func OpenBrowser(url string) error {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", url)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		cmd = exec.Command("xdg-open", url)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the browser
	select {
	case err := <-ended:
		return err
	case <-time.After(browserPatience):
		return nil
	}
}

// OpenConsole opens a URL that contains a one-time code, or prints it if there
// is no browser.
func OpenConsole(a *Env, url string) {
	if err := OpenBrowser(url); err != nil {
		fmt.Fprintf(a.Stdout, "%s %s\n", a.T("open", "请打开"), url)
		return
	}
	page, _, _ := strings.Cut(url, "#") // the code works once, and the browser has it
	fmt.Fprintf(a.Stderr, "%s%s\n%s%s\n", a.T("opened in the browser: ", "已在浏览器中打开："), page,
		a.T("to print an address that logs in: ", "输出可直接登录的地址："), a.Again("ui", "--print"))
}
