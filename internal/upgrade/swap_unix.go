//go:build !windows

package upgrade

import "os"

// swap replaces a program by fresh and keeps it as old. The path of the program
// always exists, with the old or the new content.
func swap(fresh, program, old string) error {
	if err := os.Remove(old); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Link(program, old); err != nil {
		return err
	}
	return os.Rename(fresh, program)
}
