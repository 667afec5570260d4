package main

import (
	"context"
	"errors"
	"os"
	"runtime/pprof"

	"paddock/internal/process/lifecycle"
)

// startProfile writes a profile of the processor's time to a file until stop is
// called. Without a file it does nothing.
func startProfile(file string) (stop func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// profiling is startProfile as a service.
func profiling(file string) lifecycle.Service {
	var stop func() error
	return lifecycle.Service{
		Name: "profile",
		Start: func(context.Context) (err error) {
			stop, err = startProfile(file)
			return err
		},
		Drain: func(context.Context) error { return stop() },
	}
}
