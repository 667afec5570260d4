//go:build !linux

package durable

import "os"

func dataSync(f *os.File) error { return f.Sync() }

func fileSystem(string) string { return "unknown" }

func written(int) int64 { return 0 }
