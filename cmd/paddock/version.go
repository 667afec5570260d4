package main

import (
	"encoding/json"
	"fmt"

	"paddock/internal/process/version"
)

type versionCmd struct {
	JSON bool `name:"json" help:"Print an object with version, revision, time, dirty, go and platform."`
}

// Run prints which build this is, on one line or as JSON.
func (v *versionCmd) Run(c *console) error {
	if v.JSON {
		return json.NewEncoder(c.Stdout).Encode(version.Get())
	}
	_, err := fmt.Fprintln(c.Stdout, version.Get())
	return err
}
