package busd

import (
	"slices"
	"strings"
)

// secretFlags are those whose value other users of the machine should not see.
var secretFlags = []string{"pass", "auth", "routes", "cluster", "cluster_listen"}

// HideSecrets overwrites passwords and tokens among the process's own arguments,
// which other users of the machine can see, where the system lets it. It returns
// the arguments as they were given.
func HideSecrets(args []string) []string {
	kept := make([]string, len(args))
	for i, a := range args {
		kept[i] = strings.Clone(a)
	}
	for i := 1; i < len(kept); i++ {
		name, value, joined := strings.Cut(strings.TrimLeft(kept[i], "-"), "=")
		switch {
		case !strings.HasPrefix(kept[i], "-") || !slices.Contains(secretFlags, name):
		case joined:
			overwrite(args[i][len(args[i])-len(value):])
		case i+1 < len(args):
			i++
			overwrite(args[i])
		}
	}
	return kept
}
