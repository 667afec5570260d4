package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible is ctx until an interrupt or SIGTERM. After release these end the process, as
// they do by themselves.
func interruptible(ctx context.Context) (_ context.Context, release func()) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}
