package main

import (
	"context"

	"paddock/internal/process/lifecycle"
	lab "paddock/lab/cli"
)

// profiling is a service that writes a CPU profile to a file. Without a file it does nothing.
func profiling(file string) lifecycle.Service {
	var stop func() error
	return lifecycle.Service{
		Name: "profile",
		Start: func(context.Context) (err error) {
			stop, err = lab.StartProfile(file)
			return err
		},
		Drain: func(context.Context) error { return stop() },
	}
}
