package upgrade

import (
	"errors"
	"os"
)

// swap puts fresh in the place of a program and keeps that as old. Windows does
// not let a running program be replaced, but lets it be renamed.
func swap(fresh, program, old string) error {
	if err := os.Remove(old); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := os.Rename(program, old); err != nil {
		return err
	}
	if err := os.Rename(fresh, program); err != nil {
		return errors.Join(err, os.Rename(old, program))
	}
	return nil
}
