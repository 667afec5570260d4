//go:build !linux

package durable

import "os"

func dataSync(f *os.File) error { return f.Sync() }

// FileSystem names the file system of a directory, and its device.
func FileSystem(string) string { return "unknown" }
