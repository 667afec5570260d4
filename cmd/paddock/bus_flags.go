package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"paddock/internal/busd"
)

// overrides returns a change of the settings for each given flag.
func (b *busCmd) overrides() (list []busd.Override, err error) {
	b.overrideDoors(&list)
	b.overrideLimits(&list)
	b.overrideProgram(&list)
	if b.SlowConsumers != "" {
		policy, ok := busd.ParsePolicy(b.SlowConsumers)
		if !ok {
			return nil, fmt.Errorf("--slow-consumers is one of close, drop-new, drop-old, stall, not %q", b.SlowConsumers)
		}
		list = append(list, func(s *busd.Settings) { s.Bus.SlowConsumers = policy })
	}
	return list, nil
}

// given adds an override if the flag was given.
func given[T any](list *[]busd.Override, flag *T, set func(s *busd.Settings, v T)) {
	if flag != nil {
		*list = append(*list, func(s *busd.Settings) { set(s, *flag) })
	}
}

// listed does the same for a flag with several values.
func listed(list *[]busd.Override, flag []string, set func(s *busd.Settings, v []string)) {
	if len(flag) > 0 {
		given(list, &flag, set)
	}
}

// anyPort converts 0, a flag's word for a free port, into the -1 of package bus.
func anyPort(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

func (b *busCmd) overrideDoors(list *[]busd.Override) {
	given(list, b.Addr, func(s *busd.Settings, v string) { s.Bus.Host = v })
	given(list, b.Port, func(s *busd.Settings, v int) { s.Bus.Port = anyPort(v) })
	given(list, b.Name, func(s *busd.Settings, v string) { s.Bus.ServerName = v })
	given(list, b.Unix, func(s *busd.Settings, v string) { s.Bus.Unix = v })
	given(list, b.Advertise, func(s *busd.Settings, v string) { s.Bus.Advertise = v })
	given(list, b.User, (*busd.Settings).SetUser)
	given(list, b.Pass, (*busd.Settings).SetPassword)
	given(list, b.Auth, (*busd.Settings).SetToken)
	listed(list, b.Deny, func(s *busd.Settings, v []string) { s.Bus.DenyPublish = v })
	if b.TLSCert != "" || b.TLSKey != "" || b.TLSCACert != "" || b.TLSVerify {
		*list = append(*list, func(s *busd.Settings) { s.SetTLS(b.TLSCert, b.TLSKey, b.TLSCACert, b.TLSVerify) })
	}
	given(list, b.WSPort, func(s *busd.Settings, v int) { s.SetWebSocket(anyPort(v)) })
	listed(list, b.WSOrigin, func(s *busd.Settings, v []string) { s.Origins = v })
}

func (b *busCmd) overrideLimits(list *[]busd.Override) {
	given(list, b.MaxPayload, func(s *busd.Settings, v int) { s.Bus.MaxPayload = v })
	given(list, b.MaxControlLine, func(s *busd.Settings, v int) { s.Bus.MaxControlLine = v })
	given(list, b.MaxPending, func(s *busd.Settings, v int64) { s.Bus.MaxPending = v })
	given(list, b.MaxConnections, func(s *busd.Settings, v int) { s.Bus.MaxConns = v })
	given(list, b.MaxSubscriptions, func(s *busd.Settings, v int) { s.Bus.MaxSubs = cmp.Or(v, -1) })
	given(list, b.PingMax, func(s *busd.Settings, v int) { s.Bus.PingMax = v })
	given(list, b.PingInterval, func(s *busd.Settings, v time.Duration) { s.Bus.PingInterval = v })
	given(list, b.WriteDeadline, func(s *busd.Settings, v time.Duration) { s.Bus.WriteDeadline = v })
	given(list, b.LameDuckDuration, func(s *busd.Settings, v time.Duration) { s.Bus.LameDuckDuration = v })
	given(list, b.LameDuckGrace, func(s *busd.Settings, v time.Duration) { s.Bus.LameDuckGrace = v })
	listed(list, b.MigrateTo, func(s *busd.Settings, v []string) { s.Bus.MigrateTo = v })
}

func (b *busCmd) overrideProgram(list *[]busd.Override) {
	given(list, b.HTTPPort, func(s *busd.Settings, v int) { s.HTTP.Port = anyPort(v) })
	given(list, b.Profile, func(s *busd.Settings, v int) { s.Profile = anyPort(v) })
	given(list, b.Pid, func(s *busd.Settings, v string) { s.PidFile = v })
	given(list, b.PortsFileDir, func(s *busd.Settings, v string) { s.PortsDir = v })
	given(list, b.Log, func(s *busd.Settings, v string) { s.Log.File = v })
	if b.Debug {
		*list = append(*list, func(s *busd.Settings) { s.Log.Debug = true })
	}
	if b.Trace {
		*list = append(*list, func(s *busd.Settings) { s.Log.Trace = true })
	}
}

// checked prints the result of --check.
func checked(c *console, file string, s *busd.Settings) error {
	for _, w := range s.Warnings {
		fmt.Fprintln(c.Stderr, "paddock: warning:", w)
	}
	if file == "" {
		return nil
	}
	_, err := fmt.Fprintf(c.Stdout, "configuration file %s is valid (%s)\n", file, s.Digest)
	return err
}

// isBus reports whether these are the arguments of a process that runs the bus.
func isBus(args []string) bool {
	return len(args) > 1 && filepath.Base(args[0]) == "paddock" && args[1] == "bus"
}
