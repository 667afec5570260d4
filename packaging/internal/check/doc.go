// Package check holds the tests of the files beside the program: units of systemd, the image, the
// compositions.
package check
