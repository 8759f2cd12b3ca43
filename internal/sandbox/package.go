package sandbox

import "slices"

// A Package is a package that npx or uvx would download and run.
type Package struct{ f *fetched }

// Confinable returns why a command cannot be confined, judged by its words; nil if it
// can.
func Confinable(command string, args []string) error {
	_, err := readRunner(command, args)
	return err
}

// ReadPackage parses a command that runs a package by its name. It returns nil for
// other commands, and for forms in which the package cannot be determined.
func ReadPackage(command string, args []string) *Package {
	f, err := readRunner(command, args)
	if err != nil || f == nil {
		return nil
	}
	return &Package{f}
}

// NPM reports whether the package is from npm; otherwise it is from PyPI.
func (p *Package) NPM() bool { return p.f.runner == "npx" }

// Name returns the name in its registry.
func (p *Package) Name() string { return p.f.name }

// Version returns the version in the command; "" if there is none.
func (p *Package) Version() string { return p.f.version }

// At returns the arguments of its command with another version of the package.
func (p *Package) At(version string, args []string) []string {
	other, changed := *p.f, slices.Clone(args)
	other.version = version
	if i := slices.Index(args, p.f.spec()); i >= 0 {
		changed[i] = other.spec()
	}
	return changed
}

// Program returns the command that runs the package installed in dir.
func (p *Package) Program(dir string, env []string) (path string, args []string, err error) {
	return p.f.program(dir, env)
}
