package upgrade

import (
	"errors"
	"os"
)

// swap replaces a program by fresh and keeps it as old. Windows does not allow
// replacing a running program, but allows renaming it.
func swap(fresh, program, old string) error {
	if err := os.Rename(program, old); err != nil {
		return err
	}
	if err := os.Rename(fresh, program); err != nil {
		return errors.Join(err, os.Rename(old, program))
	}
	return nil
}
