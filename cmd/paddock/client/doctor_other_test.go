//go:build !linux

package client

import "testing"

func lowFiles(t *testing.T) { t.Skip("limits of open files are those of Linux here") }
