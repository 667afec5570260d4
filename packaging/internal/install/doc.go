// Package install holds the test of the package for Debian in a clean system. `make dist-check`
// runs it.
package install
