package clientscheck

import (
	"fmt"
	"strings"
)

// Client is one client library with its program.
type Client struct {
	Name    string
	Command []string
}

// ParseClient reads NAME=COMMAND, whose words are split at spaces.
func ParseClient(text string) (Client, error) {
	name, command, _ := strings.Cut(text, "=")
	words := strings.Fields(command)
	if name == "" || len(words) == 0 {
		return Client{}, fmt.Errorf("%q is not NAME=COMMAND", text)
	}
	return Client{name, words}, nil
}
