package process

import (
	"os"
	"slices"
	"strings"
)

// Environment is ours without the settings of the program that is to be started: it gets
// those of its arguments.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "PADDOCK_") })
}
