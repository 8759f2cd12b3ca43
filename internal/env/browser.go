package env

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

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
