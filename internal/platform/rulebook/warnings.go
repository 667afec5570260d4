package rulebook

import (
	"fmt"

	"paddock/fence"
	"paddock/fence/track/rule"
)

// maxWarnings bounds the warnings about one rule.
const maxWarnings = 100

// Warnings names the set and the fences that a rule refers to and that a catalog does not have, at
// most 100 of them. They are no errors: a set and a fence may come later than the rule.
func Warnings(c *fence.Catalog, r *rule.Rule) (all []string) {
	if r.Set == "" {
		return nil
	}
	set, ok := c.Get(r.Set)
	if !ok {
		return []string{fmt.Sprintf("there is no set %q yet", r.Set)}
	}
	snap := set.Snapshot()
	for _, id := range r.Fences.IDs {
		if _, there := snap.Lookup(id); !there && len(all) < maxWarnings {
			all = append(all, fmt.Sprintf("the set %q has no fence %q yet", r.Set, id))
		}
	}
	return all
}
