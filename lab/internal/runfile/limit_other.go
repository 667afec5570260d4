//go:build !unix

package runfile

func openFiles() *Limit { return nil }
