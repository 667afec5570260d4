package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"paddock/internal/agent"
	"paddock/internal/process/lifecycle"
)

// agentCmd is the edge side of the platform. docs/guides/agent.md is its guide.
type agentCmd struct {
	Config string `short:"c" required:"" type:"path" placeholder:"FILE" help:"Configuration file; the guide docs/guides/agent.md shows every key."`
	Check  bool   `help:"Only say what is wrong with the file, each with line and column."`
}

// Run prints where the local endpoint is, and serves until a signal.
func (a *agentCmd) Run(ctx context.Context, c *console) error {
	settings, err := agent.Load(a.Config)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s:\n%w", a.Config, err)
		}
		return usageError{err}
	}
	if a.Check {
		_, err := fmt.Fprintf(c.Stdout, "%s is valid\n", a.Config)
		return err
	}
	log, err := c.Logger()
	if err != nil {
		return err
	}
	agent, err := agent.New(agent.Options{Settings: settings, Agent: tunnelAgent(), Logger: log, Stdin: c.Stdin})
	if err != nil {
		return err
	}
	manager, err := c.manager()
	if err != nil {
		return errors.Join(err, agent.Close())
	}
	group := &lifecycle.Group{Logger: log, Managed: lifecycle.Managed{Manager: manager, Alive: lifecycle.Answers(func() { agent.Summary() }), Status: agent.Summary}}
	group.Add(lifecycle.NoReloads(log))
	agent.AddTo(group)
	group.Add(lifecycle.Service{Name: "greeting", Start: func(context.Context) error { return greetAgent(c, agent) }})
	return errors.Join(group.Run(ctx), agent.Close())
}

// greetAgent prints the addresses of the agent's own listeners.
func greetAgent(c *console, a *agent.Agent) (err error) {
	if at := a.HTTP(); at != nil {
		_, err = fmt.Fprintf(c.Stdout, "http: http://%s/\n", at)
	}
	if at := a.BusAddr(); at != nil && err == nil {
		_, err = fmt.Fprintf(c.Stdout, "bus:  nats://%s\n", at)
	}
	return err
}
