package busd

import "unsafe"

// overwrite blanks an argument of the process where it lies: on Linux the strings of
// os.Args are the memory that /proc/self/cmdline shows, which may be written.
func overwrite(arg string) {
	for i := range unsafe.Slice(unsafe.StringData(arg), len(arg)) {
		unsafe.Slice(unsafe.StringData(arg), len(arg))[i] = 'x'
	}
}
