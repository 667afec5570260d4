// Package dist makes the files of a release: static binaries, archives, packages for Debian and RPM
// systems, a bill of materials for each binary, and the checksums of all.
//
// The same tree, version and date give the same bytes.
package dist
