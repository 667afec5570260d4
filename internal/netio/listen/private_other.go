//go:build !unix

package listen

func restrict(uintptr) {}
