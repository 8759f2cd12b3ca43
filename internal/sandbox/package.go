package sandbox

import "slices"

// A Package is what npx or uvx would download and run.
type Package struct{ f *fetched }

// ReadPackage takes a command apart that runs a package by its name. nil is one
// that does not, or not in a form in which the package can be told.
func ReadPackage(command string, args []string) *Package {
	f, err := readRunner(command, args)
	if err != nil || f == nil {
		return nil
	}
	return &Package{f}
}

// NPM says whether it is a package of npm; the others are of PyPI.
func (p *Package) NPM() bool { return p.f.runner == "npx" }

// Name is its name in its registry.
func (p *Package) Name() string { return p.f.name }

// Version is the version that the command asks for; "" if it does not say.
func (p *Package) Version() string { return p.f.version }

// At is the arguments of its command with another version of it.
func (p *Package) At(version string, args []string) []string {
	other, changed := *p.f, slices.Clone(args)
	other.version = version
	if i := slices.Index(args, p.f.spec()); i >= 0 {
		changed[i] = other.spec()
	}
	return changed
}

// Program is what runs the package once it is installed in dir.
func (p *Package) Program(dir string, env []string) (path string, args []string, err error) {
	return p.f.program(dir, env)
}
