//go:build !windows

package upgrade

import "os"

// swap puts fresh in the place of a program and keeps that as old. At every
// moment the program is there, one or the other.
func swap(fresh, program, old string) error {
	if err := os.Remove(old); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Link(program, old); err != nil {
		return err
	}
	return os.Rename(fresh, program)
}
