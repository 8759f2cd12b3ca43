//go:build !windows

package upgrade

import "os"

// swap replaces a program by fresh and keeps it as old. The path of the program
// always exists, with the old or the new content, and so does old.
func swap(fresh, program, old string) error {
	aside := old + ".new"
	if err := os.Remove(aside); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Link(program, aside); err != nil {
		return err
	}
	defer os.Remove(aside) // a rename to a link of the same file does nothing
	if err := os.Rename(aside, old); err != nil {
		return err
	}
	return os.Rename(fresh, program)
}
