// Package built makes the programs that tests run from the source of this tree.
package built

import (
	"fmt"
	"os/exec"
)

// Program builds the package pkg, as seen from the folder module, as the file program.
func Program(program, module, pkg string) error {
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, pkg)
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", pkg, err, out)
	}
	return nil
}
