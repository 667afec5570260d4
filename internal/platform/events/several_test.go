package events

import (
	"strings"
	"testing"

	"paddock/fence/track"
)

// The ids of two pairs differ, whatever their fleets and objects are named.
func TestIDsOfPairs(t *testing.T) {
	names := []string{DefaultFleet, "F", "X"}
	seen := map[string][4]string{}
	for _, fleet := range names {
		for _, id := range names {
			for _, otherFleet := range names {
				for _, otherID := range names {
					e := &track.Event{
						Rule: "R", Fleet: fleet, ID: id,
						Several: &track.Several{Other: &track.Party{Fleet: otherFleet, ID: otherID}},
					}
					got, pair := string(appendEventID(nil, e, 7)), [4]string{fleet, id, otherFleet, otherID}
					if other, ok := seen[got]; ok {
						t.Errorf("%s is of %v and of %v", got, pair, other)
					}
					seen[got] = pair
				}
			}
		}
	}
	for id, pair := range map[string]string{
		"near/R/X/F/7":           "default X default F",
		"near/R/F/X/X/F/7":       "F X X F",
		"near/R/F/X/default/F/7": "F X default F",
		"near/R/default/F/F/X/7": "default F F X",
	} {
		if got, ok := seen[id]; !ok || strings.Join(got[:], " ") != pair {
			t.Errorf("%s is of %v, want %s", id, got, pair)
		}
	}
}
