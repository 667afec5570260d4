// Package confdiff holds what the reference makes of configuration files: its tests
// record it, and check that the record is still true.
package confdiff
